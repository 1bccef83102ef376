"""A context is told to forget what it saved."""

CODE = "GB0139"
import torch


class Squared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.maybe_clear_saved_tensors()
        return x * x + len(ctx.saved_tensors)

    @staticmethod
    def backward(ctx, grad):
        return grad


class PlainSquared(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(False)
        return x * x + len(ctx.saved_tensors)

    @staticmethod
    def backward(ctx, grad):
        return grad


def run(compile):
    return compile(lambda x: Squared.apply(x) - 1)(torch.tensor([3.0]))


def fix(compile):
    return compile(lambda x: PlainSquared.apply(x) - 1)(torch.tensor([3.0]))
