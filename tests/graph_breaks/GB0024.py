"""StopIteration is thrown into a generator that hands on another's values."""

CODE = "GB0024"
EAGER_ERROR = "RuntimeError"
import torch


def values(x):
    yield x
    yield x * 2


def all_values(x):
    yield from values(x)


def run(compile):
    @compile
    def f(x):
        steps = all_values(x)
        first = next(steps)
        return first + steps.throw(StopIteration(3))

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        steps = all_values(x)
        return next(steps) + next(steps)

    return f(torch.ones(2))
