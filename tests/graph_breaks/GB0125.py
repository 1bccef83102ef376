"""Switching gradient tracking on for an input inside the compiled function."""

CODE = "GB0125"
import torch


def run(compile):
    @compile
    def track(x):
        x.requires_grad_()
        return (x * x).sum()

    return track(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def square_sum(x):
        return (x * x).sum()

    return square_sum(torch.tensor([1.0, 2.0]).requires_grad_())
