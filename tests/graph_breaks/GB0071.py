"""A plain function wears an attribute __self__."""

CODE = "GB0071"
LISTED = True
import torch


def double(v):
    return v * 2


double.__self__ = "registered"


def triple(v):
    return v * 3


def run(compile):
    @compile
    def f(x):
        return double(x + 1)

    return f(torch.tensor([2.0, 3.0]))


def fix(compile):
    @compile
    def f(x):
        return triple(x + 1)

    return f(torch.tensor([2.0, 3.0]))
