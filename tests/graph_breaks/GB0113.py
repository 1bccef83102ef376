"""A method of a parent that no parent has."""

CODE = "GB0113"
EAGER_ERROR = "AttributeError"
import torch


class Scaled:
    def apply(self, x):
        return super().apply(x) * 2


def run(compile):
    @compile
    def f(x):
        return Scaled().apply(x)

    return f(torch.ones(2))
