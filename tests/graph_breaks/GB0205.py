"""The ctx of an autograd function is handed to a function kept whole."""

CODE = "GB0205"
import torch


@torch.compiler.allow_in_graph
def shifted(ctx, x):
    return x + 1


@torch.compiler.allow_in_graph
def shifted_alone(x):
    return x + 1


class WithContext(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return shifted(ctx, x)

    @staticmethod
    def backward(ctx, grad):
        return grad


class Without(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return shifted_alone(x)

    @staticmethod
    def backward(ctx, grad):
        return grad


def run(compile):
    @compile
    def f(x):
        return WithContext.apply(x) * 3

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return Without.apply(x) * 3

    return f(torch.ones(2))
