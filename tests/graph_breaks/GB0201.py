"""A named tuple class has a tensor among its defaults."""

CODE = "GB0201"
import collections

import torch


def run(compile):
    @compile
    def f(x):
        Point = collections.namedtuple("Point", "x y", defaults=(x * 2,))
        return sum(Point(x))

    return f(torch.ones(2))


Point = collections.namedtuple("Point", "x y", defaults=(2,))


def fix(compile):
    @compile
    def f(x):
        return sum(Point(x))

    return f(torch.ones(2))
