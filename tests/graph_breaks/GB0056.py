"""The .data of a freshly computed tensor is replaced."""

CODE = "GB0056"
import torch


def run(compile):
    @compile
    def swap(x):
        y = x + 1
        y.data = x * 10
        return y

    return swap(torch.ones(2))


def fix(compile):
    @compile
    def swap(x):
        y = x * 10
        return y

    return swap(torch.ones(2))
