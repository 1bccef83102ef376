"""A branch of cond assigns to an element of its operand."""

CODE = "GB0041"
EAGER_ERROR = "UncapturedHigherOrderOpError"
import torch


def clear_first(t):
    t[0] = 0.0
    return t * 2


def clear_first_of_a_copy(t):
    t = t.clone()
    t[0] = 0.0
    return t * 2


def run(compile):
    @compile
    def f(x):
        return torch.cond(x.sum() > 0, clear_first, lambda t: -t, (x,))

    return f(torch.ones(3))


def fix(compile):
    @compile
    def f(x):
        return torch.cond(x.sum() > 0, clear_first_of_a_copy, lambda t: -t, (x,))

    return f(torch.ones(3))
