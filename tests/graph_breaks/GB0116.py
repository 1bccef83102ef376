"""An enumeration whose values are fractions is asked for a member by name."""

CODE = "GB0116"
import enum
import fractions

import torch


class Zoom(enum.Enum):
    HALF = fractions.Fraction(1, 2)
    DOUBLE = fractions.Fraction(2, 1)


def run(compile):
    @compile
    def zoomed(x):
        return x * Zoom["HALF"].value.denominator

    return zoomed(torch.ones(2))


def fix(compile):
    class Factor(enum.Enum):
        HALF = 2

    @compile
    def zoomed(x):
        return x * Factor["HALF"].value

    return zoomed(torch.ones(2))
