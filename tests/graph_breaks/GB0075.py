"""Declaring a class inside the compiled function."""

CODE = "GB0075"
import torch


def run(compile):
    @compile
    def scaled(x):
        class Scale:
            factor = 3.0

            def apply(self, t):
                return t * self.factor

        return Scale().apply(x)

    return scaled(torch.tensor([1.0, 2.0]))


class Scale:
    factor = 3.0

    def apply(self, t):
        return t * self.factor


def fix(compile):
    @compile
    def scaled(x):
        return Scale().apply(x)

    return scaled(torch.tensor([1.0, 2.0]))
