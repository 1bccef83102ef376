"""A tensor is asked where it was made."""

CODE = "GB0045"
import torch


def run(compile):
    @compile
    def f(x):
        y = x * 2
        return y, y.is_inference()

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return x * 2

    y = f(torch.ones(2))
    return y, y.is_inference()
