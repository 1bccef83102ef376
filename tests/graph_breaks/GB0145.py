"""An autograd function with a vjp of its own is applied to a tensor that requires grad."""

CODE = "GB0145"
import torch


class Tripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def vjp(ctx, grad):
        return grad * 3


class PlainTripled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 3

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


def run(compile):
    return compile(lambda x: Tripled.apply(x) - 1)(torch.ones(2, requires_grad=True)).detach()


def fix(compile):
    y = compile(lambda x: PlainTripled.apply(x) - 1)(torch.ones(2, requires_grad=True))
    return y.detach(), y.requires_grad, compile(lambda x: Tripled.apply(x))(torch.ones(2))
