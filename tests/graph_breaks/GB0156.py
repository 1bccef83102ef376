"""Asks a list iterator how many items are left through its __length_hint__ method."""

CODE = "GB0156"
import torch


def run(compile):
    @compile
    def add_remaining(x):
        steps = iter([10, 20, 30])
        next(steps)
        return x + steps.__length_hint__()

    return add_remaining(torch.tensor([1, 2]))


def fix(compile):
    @compile
    def add_remaining(x):
        steps = [10, 20, 30]
        return x + len(steps[1:])

    return add_remaining(torch.tensor([1, 2]))
