"""Turning a float tensor into a Python list."""

CODE = "GB0109"
import torch


def run(compile):
    @compile
    def first_two(x):
        values = x.tolist()
        return x * len(values)

    return first_two(torch.tensor([0.5, 1.5]))


def fix(compile):
    @compile
    def first_two(x):
        return x * x.shape[0]

    return first_two(torch.tensor([0.5, 1.5]))
