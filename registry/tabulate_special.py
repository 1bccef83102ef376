"""Writes ir/reference/special_tables.h: numbers of special functions, each as the sum of two float64s.

python registry/tabulate_special.py
"""

import pathlib

import mpmath

OUT = pathlib.Path(__file__).resolve().parents[1] / "ir/reference/special_tables.h"


def pair(value):
    high = float(value)
    low = float(value - mpmath.mpf(high))
    return f"{{{high.hex()}, {low.hex()}}}"


def table(name, comment, rows):
    text = "".join(f"    {{{', '.join(pair(v) for v in row)}}},\n" for row in rows)
    return f"// {comment}\ninline constexpr Pair {name}[][{len(rows[0])}] = {{\n{text}}};\n"


def main():
    mpmath.mp.prec = 400
    gamma = [[(-1) ** k * (mpmath.zeta(k) - 1) / k] for k in range(2, 36)]
    bessel = [
        [mpmath.besselj(0, n), -mpmath.besselj(1, n), mpmath.bessely(0, n), -mpmath.bessely(1, n)] for n in range(2, 27)
    ]
    factor = mpmath.factorial
    inverse = [[mpmath.mpf(0)]] + [[1 / mpmath.mpf(k)] for k in range(1, 121)]
    factorials = [[1 / factor(k)] for k in range(25)]
    numbers = [mpmath.bernoulli(2 * k) for k in range(1, 12)]
    stirling = [[b / (2 * k * (2 * k - 1))] for k, b in enumerate(numbers[:10], 1)]
    digamma = [[b / (2 * k)] for k, b in enumerate(numbers[:9], 1)]
    maclaurin = [[b / factor(2 * k)] for k, b in enumerate(numbers, 1)]
    airy = [[mpmath.airyai(n), mpmath.airyai(n, derivative=1)] for n in range(-10, 3)]
    OUT.write_text(
        "// Written by registry/tabulate_special.py.\n#pragma once\n\nnamespace md::formulas {\n\n"
        "struct Pair {\n  double high, low;\n};\n\n"
        + table("kInverse", "1 / k for k = 0 (not used), 1, 2, ...", inverse)
        + table("kInverseFactorial", "1 / k! for k = 0, 1, ...", factorials)
        + table("kStirling", "B(2 k) / (2 k (2 k - 1)) for k = 1, 2, ...", stirling)
        + table("kDigamma", "B(2 k) / (2 k)", digamma)
        + table("kMaclaurin", "B(2 k) / (2 k)!", maclaurin)
        + table("kLogGamma", "(-1)^k (zeta(k) - 1) / k for k = 2, 3, ...", gamma)
        + table("kBessel", "J0, its derivative, Y0, its derivative at 2, 3, ...", bessel)
        + table("kAiry", "Ai and its derivative at -10, -9, ... 2", airy)
        + "\n}  // namespace md::formulas\n"
    )


if __name__ == "__main__":
    main()
