"""The data of a tensor made here is replaced by other data of another dtype."""

CODE = "GB0220"
import torch


def run(compile):
    @compile
    def f(x):
        y = x + 0.5
        y.data = (x * 4).to(torch.int32)
        return y + 1

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return (x * 4).to(torch.int32) + 1

    return f(torch.ones(2))
