"""Faults that the differential test has found and that stand: operator, what is said of it (a pattern), why it stands. Who
mends one takes its line away; they are counted and shown, and do not fail the test."""
OPEN = [
    ("Exp", r"0\.0, should be (1\.[01]\d*e-38|\d\.\d*e-(39|4\d))", "subnormal results are 0"),
    ("Pow", r"e[+-]?\d{3}, should be", "of f64 far from 1: off by up to 1e-15 times |y log x| (src/code/math/math.c)"),
]
