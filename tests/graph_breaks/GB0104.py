"""A result is scaled only if autograd has recorded how it was computed."""

CODE = "GB0104"
import torch


def run(compile):
    @compile
    def scaled(w):
        y = w.exp()
        return y / 2 if y.grad_fn is not None else y

    return scaled(torch.tensor([0.0, 1.0], requires_grad=True))


def fix(compile):
    @compile
    def scaled(w):
        y = w.exp()
        return y / 2 if not y.is_leaf else y

    return scaled(torch.tensor([0.0, 1.0], requires_grad=True))
