"""The backward of an autograd function decides by what a method says of the gradient."""

CODE = "GB0068"
import torch


def run(compile):
    class Signed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 if not torch.Tensor.is_neg(grad) else -grad

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
