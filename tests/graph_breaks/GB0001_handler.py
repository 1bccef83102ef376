"""A handler that casts back to plain tensors, for a call made two functions down."""

CODE = "GB0001"
import torch


class Loud(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        plain = [a.as_subclass(torch.Tensor) if isinstance(a, Loud) else a for a in args]
        return func(*plain, **(kwargs or {}))


class Quiet(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


def inner(x):
    return torch.sin(x)


def outer(x):
    return inner(x) + 1


def run(compile):
    return compile(lambda x: outer(x))(torch.ones(2).as_subclass(Loud)).tolist()


def fix(compile):
    return compile(lambda x: outer(x))(torch.ones(2).as_subclass(Quiet)).tolist()
