"""A question about the tensor that takes no argument gets one."""

CODE = "GB0117"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def f(x):
        return x * x.numel(0)

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return x * x.numel()

    return f(torch.ones(2))
