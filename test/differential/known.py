"""Faults that the differential test has found and that stand: operator, what is said of it (a pattern), why it stands. Who
mends one takes its line away; they are counted and shown, and do not fail the test."""
OPEN = [
    ("Sin|Cos|Tan", r"set wild", "arguments far from 0 are not reduced"),
    ("Asinh|Acosh", r"inf", "squares overflow far from 0"),
    ("Exp", r"0\.0, should be \d\.\d*e-(3[89]|4\d)", "results below 2e-38 are 0"),
    ("ArgMax|ArgMin|TopK", r"wild", "NaN has no place in their order"),
    ("Mod", r"float16|set ", "a remainder in f32 of a quotient that f32 rounds"),
    ("Pow", r"nan, should be inf", "a power of -infinity that is no whole number"),
    ("AveragePool", r"mild", "auto_pad SAME of strides above the kernel"),
    ("com.microsoft.QLinearSoftmax", r"set ", "one step off: through f32, not by a table of 256"),
]
