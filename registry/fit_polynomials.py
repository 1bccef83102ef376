"""Fits the polynomials of registry/ops/math.h and writes them to registry/ops/math_tables.h.

Nearly minimax fits of the relative error in 60-digit arithmetic (Lawson's iteration). Coefficients are rounded to the
compute dtype one after the other, lowest first, and the rest is fitted again after each rounding, so that what is
printed is what was minimised. Run: python registry/fit_polynomials.py > registry/ops/math_tables.h
"""

import struct

import mpmath as mp

mp.mp.dps = 60


def round32(x):
    return mp.mpf(struct.unpack("f", struct.pack("f", float(x)))[0])


def round64(x):
    return mp.mpf(float(x))


def fit_once(g, weight, grid, fixed, degree):
    """Coefficients fixed + [free...] of the polynomial p that nearly minimises max weight*|p - g| over the grid.

    Lawson's iteration: weighted least squares whose weights grow where the error is large.
    """
    first, free = len(fixed), degree + 1 - len(fixed)
    weights = [weight(x) for x in grid]
    rest = [g(x) - (mp.polyval(fixed[::-1], x) if fixed else 0) for x in grid]
    powers = [[x ** (first + j) for j in range(free)] for x in grid]
    emphasis = [mp.mpf(1)] * len(grid)
    for _ in range(12):
        scale = [e * w * w for e, w in zip(emphasis, weights)]
        moments = [mp.fdot(scale, [p[0] * p[j] for p in powers]) for j in range(free)]
        moments += [mp.fdot(scale, [p[free - 1] * p[j] for p in powers]) for j in range(1, free)]
        normal = mp.matrix([[moments[i + j] for j in range(free)] for i in range(free)])
        right = mp.matrix([mp.fdot(scale, [p[i] * r for p, r in zip(powers, rest)]) for i in range(free)])
        solution = mp.lu_solve(normal, right)
        errors = [w * abs(mp.fdot(p, solution) - r) for w, p, r in zip(weights, powers, rest)]
        largest = max(errors)
        emphasis = [e * (error / largest + mp.mpf("0.01")) for e, error in zip(emphasis, errors)]
    return fixed + list(solution)


def fit(g, lo, hi, degree, weight, rounding):
    n = 6 * (degree + 2)
    middle, radius = (mp.mpf(lo) + hi) / 2, (mp.mpf(hi) - lo) / 2
    grid = [middle - radius * mp.cos(mp.pi * (i + mp.mpf(1) / 2) / n) for i in range(n)]
    fixed = []
    for _ in range(degree):
        fixed.append(rounding(fit_once(g, weight, grid, fixed, degree)[len(fixed)]))
    fixed.append(rounding(fit_once(g, weight, grid, fixed, degree)[-1]))
    worst = max(weight(x) * abs(mp.polyval(fixed[::-1], x) - g(x)) for x in grid)
    return fixed, worst


def series_guard(direct, series):
    """`direct` cancels near 0; below 1e-4 its Taylor series (a list, lowest first) is used."""
    return lambda x: mp.polyval(series[::-1], x) if abs(x) < mp.mpf("1e-4") else direct(x)


def taylor(f, n, at=0):
    with mp.workdps(120):
        return mp.taylor(f, at, n)


def exp_tail():
    coefficients = [1 / mp.factorial(k + 2) for k in range(16)]
    return series_guard(lambda r: (mp.expm1(r) - r) / r**2, coefficients), lambda r: abs(r**2 / mp.expm1(r))


def exp_short():
    """(exp(r) - 1) / r where only exp itself has to be accurate, not exp - 1."""
    coefficients = [1 / mp.factorial(k + 1) for k in range(16)]
    return series_guard(lambda r: mp.expm1(r) / r, coefficients), lambda r: abs(r / mp.exp(r))


def log_tail():
    coefficients = [mp.mpf(-1) ** k / (k + 3) for k in range(16)]
    return series_guard(lambda f: (mp.log1p(f) - f + f * f / 2) / f**3, coefficients), lambda f: abs(f**3 / mp.log1p(f))


def atanh_tail():
    coefficients = [mp.mpf(2) / (2 * k + 3) for k in range(16)]
    return (
        series_guard(
            lambda z: (2 * mp.atanh(mp.sqrt(z)) - 2 * mp.sqrt(z)) / mp.sqrt(z) ** 3,
            coefficients,
        ),
        lambda z: mp.sqrt(z) ** 3 / (2 * mp.atanh(mp.sqrt(z))),
    )


def atanh_tail5():
    coefficients = [mp.mpf(2) / (2 * k + 5) for k in range(16)]

    def direct(z):
        s = mp.sqrt(z)
        return (2 * mp.atanh(s) - 2 * s - 2 * s**3 / 3) / s**5

    return series_guard(direct, coefficients), lambda z: mp.sqrt(z) ** 5 / (2 * mp.atanh(mp.sqrt(z)))


def odd_tail(f, terms):
    """f(x) = x + x^3 P(x^2): P as a function of z = x^2, with f's Taylor coefficients for small z."""
    coefficients = taylor(f, 2 * terms + 3)[3::2]
    return (
        series_guard(lambda z: (f(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3, coefficients),
        lambda z: mp.sqrt(z) ** 3 / f(mp.sqrt(z)),
    )


def cos_tail():
    coefficients = [mp.mpf(-1) ** (k + 1) / mp.factorial(2 * k + 2) for k in range(12)]
    return (
        series_guard(lambda z: (mp.cos(mp.sqrt(z)) - 1) / z, coefficients),
        lambda z: z / mp.cos(mp.sqrt(z)),
    )


def erf_small():
    """erf(x) = x + x P(x^2)."""
    coefficients = taylor(mp.erf, 31)[1::2]
    coefficients[0] -= 1
    return (
        series_guard(lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z) - 1, coefficients),
        lambda z: mp.sqrt(z) / mp.erf(mp.sqrt(z)),
    )


def erfc_log(center):
    """log(erfc(x)) as a polynomial in t = x - center; errors count relative to erf, hence the factor erfc/erf."""
    return lambda t: mp.log(mp.erfc(t + center)), lambda t: mp.erfc(t + center) / mp.erf(t + center)


def erfc_scaled(a, b):
    """erfc(x) exp(x^2) as a polynomial in t = (x - a) / (x + b)."""

    def x_of(t):
        return (a + b * t) / (1 - t)

    def g(t):
        x = x_of(t)
        return mp.erfc(x) * mp.exp(x * x)

    def weight(t):
        x = x_of(t)
        return mp.exp(-x * x) / mp.erf(x)

    return g, weight


def erfc_middle(center):
    """erfc(x) exp(x^2) = E + t P(t), t = x - center and E the value at the center."""

    def g(x):
        return mp.erfc(x) * mp.exp(x * x)

    at_center = g(center)
    return lambda t: (g(t + center) - at_center) / t, lambda t: abs(t) / g(t + center)


def erfc_far():
    """x erfc(x) exp(x^2) = 1 / sqrt(pi) + w P(w), w = 1 / x^2."""

    def g(w):
        x = 1 / mp.sqrt(w)
        return x * mp.erfc(x) * mp.exp(x * x)

    return lambda w: (g(w) - 1 / mp.sqrt(mp.pi)) / w, lambda w: w / g(w)


HALF_LN2 = mp.log(2) / 2 * mp.mpf("1.0001")
ROOT = mp.sqrt(mp.mpf(1) / 2)
S_MAX = ((mp.sqrt(2) - 1) / (mp.sqrt(2) + 1)) ** 2 * mp.mpf("1.0001")
EIGHTH = (mp.tan(mp.pi / 8) * mp.mpf("1.001")) ** 2
QUARTER = (mp.pi / 4 * mp.mpf("1.002")) ** 2

# name, (function, weight), interval, degree for float32, degree for float64 (None: not used by that dtype)
FITS = [
    ("Exp", exp_tail(), -HALF_LN2, HALF_LN2, 5, 10, "exp(r) = 1 + r + r^2 P(r)"),
    ("ExpShort", exp_short(), -HALF_LN2, HALF_LN2, 5, 10, "exp(r) = 1 + r P(r)"),
    ("Log", log_tail(), ROOT - 1, mp.sqrt(2) - 1, 7, None, "log(1+f) = f + f^2 (-1/2 + f P(f))"),
    ("Atanh", atanh_tail(), 0, S_MAX, None, 7, "log((1+s)/(1-s)) = 2 s + s^3 P(s^2)"),
    ("Atanh5", atanh_tail5(), 0, S_MAX, 2, 7, "log((1+s)/(1-s)) = 2 s + 2/3 s^3 + s^5 P(s^2)"),
    ("Sin", odd_tail(mp.sin, 20), 0, QUARTER, 2, 6, "sin(r) = r + r^3 P(r^2), |r| <= pi/4"),
    ("Cos", cos_tail(), 0, QUARTER, 3, 7, "cos(r) = 1 + r^2 P(r^2), |r| <= pi/4"),
    ("Tan", odd_tail(mp.tan, 20), 0, QUARTER, 6, 14, "tan(r) = r + r^3 P(r^2), |r| <= pi/4"),
    ("Tanh", odd_tail(mp.tanh, 20), 0, mp.mpf("0.6") ** 2, 4, None, "tanh(x) = x + x^3 P(x^2), |x| <= 0.6"),
    ("ErfSmall", erf_small(), 0, 1, 6, 14, "erf(x) = x + x P(x^2), |x| <= 1"),
    ("ErfcLog", erfc_log(mp.mpf("2.5")), mp.mpf("-1.5"), mp.mpf("1.5"), 8, None, "log(erfc(2.5 + t)), |t| <= 1.5"),
    ("ErfcScaled", erfc_scaled(mp.mpf(2), mp.mpf(2)), -mp.mpf(1) / 3, mp.mpf(1) / 2, None, 17,
     "erfc(x) = exp(-x^2) P(t), t = (x-2)/(x+2), 1 <= x <= 6"),
    ("Asin", odd_tail(mp.asin, 20), 0, mp.mpf(1) / 4, 5, 12, "asin(x) = x + x^3 P(x^2), |x| <= 1/2"),
    ("Atan", odd_tail(mp.atan, 20), 0, EIGHTH, 4, 11, "atan(x) = x + x^3 P(x^2), |x| <= tan(pi/8)"),
    ("ErfcMiddle", erfc_middle(mp.mpf("1.5")), mp.mpf("-0.76"), 1, 10, 20, "erfc(1.5 + t) exp(..) = E + t P(t)"),
    ("ErfcFar", erfc_far(), mp.mpf(1) / 900, mp.mpf("0.161"), 7, 20,
     "x erfc(x) exp(x^2) = 1/sqrt(pi) + P(w) w, w = 1/x^2"),
]  # fmt: skip


def write(name, bits, coefficients, worst, text):
    print(f"// {text}; worst relative error 2^{float(mp.log(worst, 2)):.1f}")
    print(f"inline constexpr double k{name}{bits}[] = {{")
    for c in coefficients:
        print(f"    {float(c).hex()},")
    print("};")


def main():
    print("// Written by registry/fit_polynomials.py; coefficients, lowest first, for registry/ops/math.h.")
    print("#pragma once\n\n// clang-format off\n#include <cstdint>\n\nnamespace md::math_tables {\n")
    for name, (g, weight), lo, hi, degree32, degree64, text in FITS:
        for bits, degree, rounding in (
            (32, degree32, round32),
            (64, degree64, round64),
        ):
            if degree is not None:
                write(name, bits, *fit(g, lo, hi, degree, weight, rounding), text)
        print()
    print("// The first 1,216 fraction bits of 2/pi after 64 zero bits, most significant word first")
    print("inline constexpr std::uint64_t kTwoOverPi[] = {\n    0x0,")
    with mp.workprec(1400):
        bits = int(mp.floor(2 / mp.pi * mp.mpf(2) ** 1216))
    for i in range(18, -1, -1):
        print(f"    0x{bits >> (64 * i) & (2**64 - 1):016x},")
    print("};\n\n}  // namespace md::math_tables")


main()
