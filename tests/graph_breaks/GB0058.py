"""Assigning to the .real attribute of a tensor."""

CODE = "GB0058"
import torch


def run(compile):
    @compile
    def overwrite(x):
        y = x * 2
        y.real = torch.zeros(2)
        return y + 1

    return overwrite(torch.ones(2))


def fix(compile):
    @compile
    def overwrite(x):
        y = torch.zeros(2)
        return y + 1

    return overwrite(torch.ones(2))
