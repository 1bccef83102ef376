"""A branch of cond appends to a list from outside."""

CODE = "GB0067"
EAGER_ERROR = "UncapturedHigherOrderOpError"
import torch

seen = []


def note(t):
    seen.append(1)
    return t + 1


def run(compile):
    @compile
    def f(x):
        return torch.cond(x.sum() > 0, note, lambda t: t - 1, (x,))

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return torch.cond(x.sum() > 0, lambda t: t + 1, lambda t: t - 1, (x,))

    return f(torch.ones(2))
