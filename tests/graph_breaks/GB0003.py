"""The compile decorator is put on a generator function."""

CODE = "GB0003"
import torch


def run(compile):
    @compile
    def halves(x):
        while x.dim() > 0:
            yield x / 2
            x = x.sum(0)

    return list(halves(torch.ones(2, 3)))


def fix(compile):
    def halves(x):
        while x.dim() > 0:
            yield x / 2
            x = x.sum(0)

    @compile
    def collect(x):
        return list(halves(x))

    return collect(torch.ones(2, 3))
