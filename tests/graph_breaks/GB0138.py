"""A tensor is saved on a context made by hand."""

CODE = "GB0138"
import torch

FunctionCtx = torch.autograd.function.FunctionCtx


def run(compile):
    kept = FunctionCtx()

    @compile
    def f(x):
        y = x + 1
        kept.save_for_backward(x, None)
        return y

    return f(torch.ones(2)), kept.saved_tensors[0], len(kept.saved_tensors)


class Kept:
    saved = ()


def fix(compile):
    kept = Kept()

    @compile
    def f(x):
        y = x + 1
        kept.saved = (x,)
        return y

    return f(torch.ones(2)), kept.saved[0]
