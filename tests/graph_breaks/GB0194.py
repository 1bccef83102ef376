"""isinstance() of the descriptor that stands for a slot."""

CODE = "GB0194"
LISTED = True
import torch


class Point:
    __slots__ = ("x",)


def run(compile):
    slot = Point.x

    @compile
    def f(x):
        return x + 1 if isinstance(slot, (property, staticmethod)) else x - 1

    return f(torch.tensor([2.0, 3.0]))


def fix(compile):
    is_property = isinstance(Point.x, property)

    @compile
    def f(x):
        return x + 1 if is_property else x - 1

    return f(torch.tensor([2.0, 3.0]))
