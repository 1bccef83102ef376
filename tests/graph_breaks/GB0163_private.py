"""The other name of the gradient, by getattr()."""

CODE = "GB0163"
import torch


class Tracked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


def run(compile):
    def known(x):
        return x._grad is not None

    return compile(lambda x: x + known(x))(torch.ones(2).as_subclass(Tracked)).tolist()
