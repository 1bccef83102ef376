"""An enumeration invents a member for a value it does not have."""

CODE = "GB0054"
import enum

import torch

ASKED = []


class Rounding(enum.Enum):
    UP = "up"
    DOWN = "down"

    @classmethod
    def _missing_(cls, value):
        ASKED.append(value)
        return cls.UP


def run(compile):
    del ASKED[:]

    @compile
    def rounded(x, how):
        return torch.ceil(x) if Rounding(how) is Rounding.UP else torch.floor(x)

    return rounded(torch.tensor([1.5]), "nearest"), list(ASKED)


def fix(compile):
    @compile
    def rounded(x, how):
        return torch.ceil(x) if Rounding(how) is Rounding.UP else torch.floor(x)

    return rounded(torch.tensor([1.5]), "down")
