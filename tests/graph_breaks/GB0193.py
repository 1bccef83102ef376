"""A builtin gets too few arguments."""

CODE = "GB0193"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def f(x):
        return x * 2 if isinstance(x) else x

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return x * 2 if isinstance(x, torch.Tensor) else x

    return f(torch.ones(2))
