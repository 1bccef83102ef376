"""Passing a keyword that a tensor function does not know."""

CODE = "GB0112"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def row_sums(x):
        return torch.sum(x, axes_of_interest=1)

    return row_sums(torch.ones(2, 3))


def fix(compile):
    @compile
    def row_sums(x):
        return torch.sum(x, dim=1)

    return row_sums(torch.ones(2, 3))
