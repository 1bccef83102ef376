"""Sorts a list of tensors by the value of their sums."""

CODE = "GB0207"
import torch


def run(compile):
    @compile
    def smallest(x, y):
        rows = sorted([x, y], key=lambda t: t.sum())
        return rows[0] * 2

    return smallest(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def smallest(x, y):
        return torch.where(x.sum() <= y.sum(), x, y) * 2

    return smallest(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0]))
