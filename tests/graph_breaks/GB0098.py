"""Calling a helper that was switched off for compilation with torch.compiler.disable."""

CODE = "GB0098"
import torch


@torch.compiler.disable
def log_norm(x):
    return x.abs().sum()


def plain_norm(x):
    return x.abs().sum()


def run(compile):
    @compile
    def normalise(x):
        return x / log_norm(x)

    return normalise(torch.tensor([3.0, -1.0]))


def fix(compile):
    @compile
    def normalise(x):
        return x / plain_norm(x)

    return normalise(torch.tensor([3.0, -1.0]))
