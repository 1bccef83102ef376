"""A tensor chooses an element of a list."""

CODE = "GB0070"
import torch


def run(compile):
    scales = [1.0, 2.0, 4.0]

    @compile
    def scaled(x, level):
        return x * scales[level]

    return scaled(torch.ones(2), torch.tensor(2))


def fix(compile):
    scales = torch.tensor([1.0, 2.0, 4.0])

    @compile
    def scaled(x, level):
        return x * scales[level]

    return scaled(torch.ones(2), torch.tensor(2))
