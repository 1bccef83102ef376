"""A function from outside is dressed up as another inside the compiled one."""

CODE = "GB0187"
import functools

import torch


def tripled(x):
    return x * 3


def wrapper(x):
    return tripled(x) + 1


def run(compile):
    @compile
    def f(x):
        return functools.wraps(tripled)(wrapper)(x)

    return f(torch.tensor([2.0, 3.0]))


def fix(compile):
    @compile
    def f(x):
        @functools.wraps(tripled)
        def inner(v):
            return tripled(v) + 1

        return inner(x)

    return f(torch.tensor([2.0, 3.0]))
