"""A mode that is active inside of the compiled function has no answer, and nobody else is there to ask."""

CODE = "GB0000"
EAGER_ERROR = "TypeError"
import torch
from torch.overrides import TorchFunctionMode


class Refusing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return NotImplemented


class Passing(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def under(mode, x):
    with mode:
        return torch.mul(x, 2)


def run(compile):
    return compile(lambda x: under(Refusing(), x))(torch.ones(2))


def fix(compile):
    return compile(lambda x: under(Passing(), x))(torch.ones(2)).tolist()
