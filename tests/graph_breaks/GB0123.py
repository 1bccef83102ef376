"""Gradients are computed inside the compiled function."""

CODE = "GB0123"
import torch


def run(compile):
    w = torch.ones(2, requires_grad=True)

    @compile
    def step(w):
        (w * w).sum().backward()
        return w.grad * 0.5

    return step(w)


def fix(compile):
    w = torch.ones(2, requires_grad=True)

    @compile
    def loss(w):
        return (w * w).sum()

    loss(w).backward()
    return w.grad * 0.5
