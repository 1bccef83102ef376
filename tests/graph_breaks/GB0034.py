"""An assertion about the rank fails where one graph is wanted."""

CODE = "GB0034"
WHOLE = True
EAGER_ERROR = "AssertionError"
import torch


def run(compile):
    @compile
    def f(x):
        assert x.ndim == 2
        return x.sum(1)

    return f(torch.ones(4))


def fix(compile):
    @compile
    def f(x):
        assert x.ndim == 2
        return x.sum(1)

    return f(torch.ones(4, 2))
