"""Unpacking three values into two names."""

CODE = "GB0077"
EAGER_ERROR = "ValueError"
import torch


def run(compile):
    @compile
    def split(x):
        low, high = [x - 1, x, x + 1]
        return low + high

    return split(torch.ones(2))


def fix(compile):
    @compile
    def split(x):
        low, _, high = [x - 1, x, x + 1]
        return low + high

    return split(torch.ones(2))
