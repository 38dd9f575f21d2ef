#!/usr/bin/env python3
"""Polynomial coefficients of vector code's functions (src/code/math): minimax fits by Remez' exchange, in plain Python: in
doubles for functions of f32, in 60 digits for those of f64.

Prints the coefficients (lowest first) and the fit's error; run it again when a degree or an interval changes.
"""
import decimal
import math


def solve(a, b):
    n = len(b)
    m = [row[:] + [y] for row, y in zip(a, b)]
    for i in range(n):
        p = max(range(i, n), key=lambda r: abs(m[r][i]))
        m[i], m[p] = m[p], m[i]
        for r in range(n):
            if r != i:
                f = m[r][i] / m[i][i]
                m[r] = [x - f * y for x, y in zip(m[r], m[i])]
    return [m[i][n] / m[i][i] for i in range(n)]


def remez(f, weight, low, high, degree, rounds=30, grid=8000, number=float):
    """min over p of max |weight(x) (p(x) - f(x))|."""
    n, low, high = degree + 2, number(low), number(high)
    xs = [(low + high) / 2 - (high - low) / 2 * number(math.cos(math.pi * (i + 0.5) / n)) for i in range(n)]
    points = [low + (high - low) * number(0.5 - 0.5 * math.cos(math.pi * i / grid)) for i in range(grid + 1)]
    values = [(x, f(x), weight(x)) for x in points]
    for _ in range(rounds):
        rows = [[x ** k for k in range(degree + 1)] + [(-1) ** i / weight(x)] for i, x in enumerate(xs)]
        c = solve(rows, [f(x) for x in xs])[:-1]
        err = []
        for x, y, w in values:
            p = number(0)
            for k in reversed(c):
                p = p * x + k
            err.append(w * (p - y))
        best, extremes = 0, []
        for i in range(1, len(err) + 1):  # the largest of each run of equal sign
            if i == len(err) or (err[i] > 0) != (err[best] > 0):
                extremes.append(best)
                best = i
            elif abs(err[i]) > abs(err[best]):
                best = i
        while len(extremes) > n:
            extremes.pop(0 if abs(err[extremes[0]]) < abs(err[extremes[-1]]) else -1)
        if len(extremes) < n:
            break
        xs = [points[i] for i in extremes]
    return c, max(abs(e) for e in err)


def report(name, c, err, digits=10):
    print(f"{name}: error {err:.2e} = 2^{math.log2(err):.1f}")
    print("   ", ", ".join(f"{x:.{digits}g}" for x in c))


def erf_of(x):
    """erf of a Decimal x > 0, as many digits as there are: a series of positive terms."""
    term = total = x
    k = 0
    while term > total * decimal.Decimal(10) ** -decimal.getcontext().prec:
        k += 1
        term *= 2 * x * x / (2 * k + 1)
        total += term
    return 2 * total * (-x * x).exp() / decimal.Decimal("3.14159265358979323846264338327950288419716939937510582097494459").sqrt()


def fit_f64():
    decimal.getcontext().prec = 60
    d = decimal.Decimal
    limits = {"number": d, "grid": 600, "rounds": 8}
    small = lambda u: erf_of(max(u, d("1e-30")).sqrt()) / max(u, d("1e-30")).sqrt() - 1
    report("erf of f64: erf x / x - 1 in x^2, |x| < 1", *remez(small, lambda u: d(1), "1e-9", 1, 11, **limits), 19)
    at = lambda t: 2 * (1 + t) / (1 - t)  # the x of t = (x - 2) / (x + 2)
    scaled = lambda t: (1 - erf_of(at(t))) * (at(t) * at(t)).exp()
    low, high = (d(1) - 2) / 3, (d(6) - 2) / 8
    report("erf of f64: exp(x^2) erfc x in (x - 2) / (x + 2), 1 <= x < 6",
           *remez(scaled, lambda t: (-at(t) * at(t)).exp(), low, high, 12, **limits), 19)


def fit_pieces():
    """erf by quarters: each piece around k/4, in x - k/4; the last one's end is raised to where a float is 1."""
    decimal.getcontext().prec = 40
    d = decimal.Decimal
    one = lambda x: d(1)
    limits = {"number": d, "grid": 400, "rounds": 8}
    over = lambda u: erf_of(max(u, d("1e-30")).sqrt()) / max(u, d("1e-30")).sqrt()
    report("erf, piece 0: erf x / x in x^2, |x| < 1/8", *remez(over, one, "1e-12", "0.015625", 2, **limits))
    for k in range(1, 16):
        raised = lambda t, k=k: erf_of(d(k) / 4 + t) + (d("1.8e-7") * t if k == 15 else 0)
        report(f"erf, piece {k}", *remez(raised, one, "-0.125", "0.125", 6, **limits))


def main():
    h = math.log(2) / 2 * 1.001
    series = lambda r: sum(r ** k / math.factorial(k + 2) for k in range(18))  # (exp r - 1 - r) / r^2
    report("exp: (exp r - 1 - r) / r^2", *remez(series, lambda r: r * r + 1e-4, -h, h, 4))
    h = math.sqrt(2) - 1
    log1p = lambda f: (math.log1p(f) - f) / (f * f) if abs(f) > 1e-3 else -0.5 + f / 3 - f * f / 4 + f ** 3 / 5
    report("log: (log1p f - f) / f^2", *remez(log1p, lambda f: abs(f) + 1e-3, -0.2929, h + 1e-4, 8))
    q = math.pi / 4 * 1.0001
    sin3 = lambda u: sum((-1) ** (k + 1) * u ** k / math.factorial(2 * k + 3) for k in range(12))
    report("sin: (sin x - x) / x^3 in x^2", *remez(sin3, lambda u: u + 1e-4, 0, q * q, 3))
    cos4 = lambda u: sum((-1) ** k * u ** k / math.factorial(2 * k + 4) for k in range(12))
    report("cos: (cos x - 1 + x^2/2) / x^4 in x^2", *remez(cos4, lambda u: u * u + 1e-4, 0, q * q, 2))

    def tanh3(u):  # (tanh x / x - 1) / x^2 in u = x^2
        x = math.sqrt(u)
        return (math.tanh(x) / x - 1) / u if u > 1e-3 else -1 / 3 + 2 * u / 15 - 17 * u * u / 315
    report("tanh: (tanh x - x) / x^3 in x^2, |x| < 0.625", *remez(tanh3, lambda u: u + 1e-3, 0, 0.625 ** 2 * 1.001, 4))

    def erf1(u):  # erf(x) / x in u = x^2
        x = math.sqrt(u)
        return math.erf(x) / x if u > 1e-9 else 2 / math.sqrt(math.pi)
    report("erf: erf x / x - 1 in x^2, |x| < 1", *remez(lambda u: erf1(u) - 1, lambda u: 1.0, 0, 1.002, 6))
    report("erf: log erfc x, 1 <= x < 4", *remez(lambda x: math.log(math.erfc(x)), math.erfc, 0.998, 4.0, 8))
    fit_f64()
    fit_pieces()


main()
