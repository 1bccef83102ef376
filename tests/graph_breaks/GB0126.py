"""Resizing a scratch tensor in place."""

CODE = "GB0126"
import torch


def run(compile):
    @compile
    def shrink(x):
        scratch = x.clone()
        scratch.resize_(2)
        return scratch + 1

    return shrink(torch.tensor([1.0, 2.0, 3.0, 4.0]))


def fix(compile):
    @compile
    def shrink(x):
        return x[:2] + 1

    return shrink(torch.tensor([1.0, 2.0, 3.0, 4.0]))
