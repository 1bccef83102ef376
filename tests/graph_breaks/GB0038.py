"""A list is sliced with a one-element tensor as its upper bound."""

CODE = "GB0038"
import torch


def run(compile):
    @compile
    def head_sum(x, n):
        parts = [x, x * 2, x * 3]
        return sum(parts[:n])

    return head_sum(torch.ones(2), torch.tensor(2))


def fix(compile):
    @compile
    def head_sum(x, n):
        parts = [x, x * 2, x * 3]
        return sum(parts[:n])

    return head_sum(torch.ones(2), 2)
