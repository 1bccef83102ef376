"""A dense tensor is told to sparse_resize_."""

CODE = "GB0129"
EAGER_ERROR = "NotImplementedError"
import torch


def run(compile):
    @compile
    def f(x):
        y = x * 2
        y.sparse_resize_((4, 4), 2, 0)
        return y

    return f(torch.ones(2, 2))


def fix(compile):
    @compile
    def f(x):
        return torch.zeros(4, 4) + x.sum()

    return f(torch.ones(2, 2))
