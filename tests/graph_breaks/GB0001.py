"""A plain tensor is cast to the plain tensor class."""

CODE = "GB0001"
import torch


def run(compile):
    @compile
    def plain(x):
        return x.as_subclass(torch.Tensor) * 3

    return plain(torch.tensor([4.0, 5.0]))


def fix(compile):
    @compile
    def plain(x):
        return x * 3

    return plain(torch.tensor([4.0, 5.0]))
