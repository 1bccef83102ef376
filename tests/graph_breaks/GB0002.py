"""An assertion about a dynamic size fails."""

CODE = "GB0002"
EAGER_ERROR = "AssertionError"
import torch


def run(compile):
    @compile(dynamic=True)
    def rows(x):
        n = x.shape[0]
        assert n >= 4, "too few rows"
        return x.sum(0)

    return rows(torch.ones(3, 2))


def fix(compile):
    @compile(dynamic=True)
    def rows(x):
        n = x.shape[0]
        assert n >= 4, "too few rows"
        return x.sum(0)

    return rows(torch.ones(6, 2))
