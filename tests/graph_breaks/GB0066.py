"""A graph break happens inside a with-block of a hand-written context manager."""

CODE = "GB0066"
import torch


class Scope:
    def __init__(self, factor):
        self.factor = factor

    def __enter__(self):
        return self.factor

    def __exit__(self, *exc):
        self.factor = 0


def run(compile):
    @compile
    def f(x):
        with Scope(3) as factor:
            y = x + 1
            torch._dynamo.graph_break()
            y = y * factor
        return y

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        with Scope(3) as factor:
            y = x + 1
            y = y * factor
        return y

    return f(torch.ones(2))
