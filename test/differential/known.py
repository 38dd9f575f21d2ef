"""Faults that the differential test has found and that stand: operator, what is said of it (a pattern), why it stands. Who
mends one takes its line away; they are counted and shown, and do not fail the test."""
OPEN = [
    ("Exp", r"0\.0, should be (1\.[01]\d*e-38|\d\.\d*e-(39|4\d))", "subnormal results are 0"),
]
