"""A mask picks the elements that are used: how many there are depends on their values."""

CODE = "GB0036"
import torch


def run(compile):
    @compile
    def mean_of_large(x):
        large = x[x > 1]
        return large.mean()

    return mean_of_large(torch.tensor([1.0, 2.0, 4.0]))


def fix(compile):
    @compile
    def mean_of_large(x):
        large = x > 1
        return torch.where(large, x, 0.0).sum() / large.sum()

    return mean_of_large(torch.tensor([1.0, 2.0, 4.0]))
