"""The backward of an autograd function tests an attribute of the gradient that may be another one when it runs."""

CODE = "GB0102"
import torch


def run(compile):
    class Signed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 if grad.layout is torch.strided else -grad

    w = torch.ones(2, requires_grad=True)
    compile(lambda w: Signed.apply(w).sum())(w).backward()
    return w.grad


def fix(compile):
    class Signed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.factor = 2
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 if ctx.factor == 2 else -grad

    w = torch.ones(2, requires_grad=True)
    compile(lambda w: Signed.apply(w).sum())(w).backward()
    return w.grad
