"""The fields of a dataclass are asked of the class."""

CODE = "GB0180"
LISTED = True
import dataclasses

import torch


@dataclasses.dataclass
class Size:
    rows: int = 2
    columns: int = 3


def use(compile, described):
    @compile
    def f(x):
        for field in dataclasses.fields(described):
            x = x + len(field.name)
        return x

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, Size)


def fix(compile):
    return use(compile, Size())
