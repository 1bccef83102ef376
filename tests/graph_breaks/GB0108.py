"""The gradient of a value in the middle is to be kept."""

CODE = "GB0108"
import torch


def run(compile):
    @compile
    def loss(w):
        middle = w.sin()
        middle.retain_grad()
        return middle.square().mean()

    return loss(torch.tensor([0.5, 1.0], requires_grad=True))


def fix(compile):
    @compile
    def loss(w):
        return w.sin().square().mean()

    return loss(torch.tensor([0.5, 1.0], requires_grad=True))
