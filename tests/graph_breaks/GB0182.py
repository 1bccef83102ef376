"""Tensors of lengths 4 and 5 are compared."""

CODE = "GB0182"
EAGER_ERROR = "RuntimeError"
import torch


def run(compile):
    @compile
    def f(x, y):
        return x >= y

    return f(torch.ones(4), torch.ones(5))


def fix(compile):
    @compile
    def f(x, y):
        return x[:, None] >= y

    return f(torch.ones(4), torch.ones(5))
