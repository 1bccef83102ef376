"""The context of an autograd function is appended to a list from outside."""

CODE = "GB0019"
import torch

KEPT = []


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, keep):
        if keep:
            KEPT.append(ctx)
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2, None


def run(compile):
    del KEPT[:]
    y = compile(lambda x: Doubled.apply(x, True))(torch.ones(2))
    return y, len(KEPT)


def fix(compile):
    return compile(lambda x: Doubled.apply(x, False))(torch.ones(2))
