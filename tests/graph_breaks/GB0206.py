"""Turns on requires_grad of a tensor by attribute assignment inside the compiled function."""

CODE = "GB0206"
import torch


def run(compile):
    @compile
    def track(x):
        y = x.clone()
        y.requires_grad = True
        return y * 2

    return track(torch.tensor([1.0, 2.0])).detach()


def fix(compile):
    @compile
    def track(x):
        return x.clone() * 2

    return track(torch.tensor([1.0, 2.0]))
