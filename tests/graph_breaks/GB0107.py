"""A tensor is filled with random integers in place."""

CODE = "GB0107"
import torch


def run(compile):
    @compile
    def noise(x):
        return x.clone().random_(0, 1) + x

    return noise(torch.ones(2))


def fix(compile):
    @compile
    def noise(x):
        return torch.randint_like(x, 0, 1) + x

    return noise(torch.ones(2))
