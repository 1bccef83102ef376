"""Two iterators over traced values are compared."""

CODE = "GB0023"
LISTED = True
import torch


def run(compile):
    @compile
    def f(x):
        ours, theirs = iter([x]), iter([x])
        return x + 1 if ours == theirs else x - 1

    return f(torch.tensor([2.0, 3.0]))


def fix(compile):
    @compile
    def f(x):
        ours, theirs = iter([x]), iter([x])
        return x + 1 if ours is theirs else x - 1

    return f(torch.tensor([2.0, 3.0]))
