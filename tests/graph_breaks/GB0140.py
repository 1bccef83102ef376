"""An undecorated function of an autograd function class is called."""

CODE = "GB0140"
LISTED = True
import torch


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * x

    @staticmethod
    def backward(ctx, grad):
        return grad

    def halve(x):
        return x / 2


class Static(Square):
    halve = staticmethod(Square.halve)


def use(compile, kind):
    @compile
    def f(x):
        return kind.halve(kind.apply(x))

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, Square)


def fix(compile):
    return use(compile, Static)
