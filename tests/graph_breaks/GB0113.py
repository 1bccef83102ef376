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


def fix(compile):
    class Halved:
        def apply(self, x):
            return x / 2

    class Scaled(Halved):
        def apply(self, x):
            return super().apply(x) * 2

    @compile
    def f(x):
        return Scaled().apply(x)

    return f(torch.ones(2))
