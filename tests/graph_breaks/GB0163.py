"""The gradient kept on an instance of a class that answers calls itself is read."""

CODE = "GB0163"
import torch


class Tracked(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})


def run(compile):
    @compile
    def step(x):
        return (x * 2 if x.grad is None else x * 3).sum()

    return step(torch.ones(2).as_subclass(Tracked)).item()


def fix(compile):
    @compile
    def step(x, has_gradient):
        return (x * 3 if has_gradient else x * 2).sum()

    x = torch.ones(2).as_subclass(Tracked)
    return step(x, x.grad is not None).tolist()
