"""A defaultdict is asked for an attribute that it does not have."""

CODE = "GB0217"
LISTED = True
import collections
import functools

import torch


def use(compile, kind):
    @compile
    def f(x):
        found = kind(a=x)
        return x if hasattr(found, "order") else found["a"] * 2

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, functools.partial(collections.defaultdict, list))


def fix(compile):
    return use(compile, dict)
