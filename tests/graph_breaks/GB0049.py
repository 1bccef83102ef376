"""An op called by its name in torch.ops.aten with arguments that fit none of its forms."""

CODE = "GB0049"
EAGER_ERROR = "RuntimeError"
import torch


def run(compile):
    @compile
    def f(x):
        return torch.ops.aten.mul(x + 1, None)

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return torch.ops.aten.mul(x + 1, 3)

    return f(torch.ones(2))
