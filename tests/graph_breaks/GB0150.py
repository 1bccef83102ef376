"""Asks hasattr() about a slice object built in the compiled function."""

CODE = "GB0150"
import torch


def run(compile):
    @compile
    def take(x):
        window = slice(0, 2)
        if hasattr(window, "start"):
            return x[window] + 1
        return x

    return take(torch.tensor([1.0, 2.0, 3.0]))


def fix(compile):
    @compile
    def take(x):
        window = slice(0, 2)
        return x[window] + 1

    return take(torch.tensor([1.0, 2.0, 3.0]))
