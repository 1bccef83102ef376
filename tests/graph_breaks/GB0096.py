"""An attribute of a partial object is set inside a with statement."""

CODE = "GB0096"
import functools

import torch


class Block:
    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


def run(compile):
    lower = functools.partial(min, 3)

    @compile
    def f(x):
        y = x * 2
        with Block():
            lower.calls = 1
        return y + 1

    return f(torch.ones(2)), lower.calls


class Lower:
    calls = 0


def fix(compile):
    lower = Lower()

    @compile
    def f(x):
        y = x * 2
        with Block():
            lower.calls = 1
        return y + 1

    return f(torch.ones(2)), lower.calls
