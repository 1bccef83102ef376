"""An inner function reads a variable of the outer one before it has been assigned."""

CODE = "GB0091"
EAGER_ERROR = "NameError"
import torch


def run(compile):
    @compile
    def too_early(x):
        def scaled():
            return x * factor

        y = scaled()
        factor = 2.0
        return y + factor

    return too_early(torch.ones(2))


def fix(compile):
    @compile
    def in_order(x):
        def scaled():
            return x * factor

        factor = 2.0
        y = scaled()
        return y + factor

    return in_order(torch.ones(2))
