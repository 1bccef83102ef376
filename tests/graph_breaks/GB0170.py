"""Chooses a branch by testing a value computed from the input tensor."""

CODE = "GB0170"
import torch


def run(compile):
    @compile
    def clip_if_large(x):
        if x.sum() > 5:
            return x / 2
        return x * 2

    return clip_if_large(torch.tensor([4.0, 3.0]))


def fix(compile):
    @compile
    def clip_if_large(x):
        return torch.where(x.sum() > 5, x / 2, x * 2)

    return clip_if_large(torch.tensor([4.0, 3.0]))
