"""Calling a function disabled only for its own frame (recursive=False)."""

CODE = "GB0099"
import torch


@torch.compiler.disable(recursive=False)
def offset(x):
    return x + 0.5


def run(compile):
    @compile
    def shift(x):
        return offset(x * 2)

    return shift(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def shift(x):
        return x * 2 + 0.5

    return shift(torch.tensor([1.0, 2.0]))
