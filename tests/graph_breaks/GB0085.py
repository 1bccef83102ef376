"""The forward of an autograd function is a callable object."""

CODE = "GB0085"
import torch


class Shift:
    def __call__(self, ctx, x):
        return x + 5


class Shifted(torch.autograd.Function):
    forward = Shift()

    @staticmethod
    def backward(ctx, grad):
        return grad


class PlainShifted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x + 5

    @staticmethod
    def backward(ctx, grad):
        return grad


def run(compile):
    return compile(lambda x: Shifted.apply(x) * 2)(torch.ones(2))


def fix(compile):
    return compile(lambda x: PlainShifted.apply(x) * 2)(torch.ones(2))
