"""A partial whose keyword is a str of a class of its own."""

CODE = "GB0186"
import functools

import torch


class Name(str):
    pass


def raised(x, power):
    return x**power


def run(compile):
    square = functools.partial(raised, **{Name("power"): 2})

    @compile
    def f(x):
        return square(x) - 1

    return f(torch.tensor([2.0, 3.0]))


def fix(compile):
    square = functools.partial(raised, power=2)

    @compile
    def f(x):
        return square(x) - 1

    return f(torch.tensor([2.0, 3.0]))
