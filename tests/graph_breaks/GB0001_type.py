"""The class to cast to is taken from another tensor by type()."""

CODE = "GB0001"
import torch


class Kind(torch.Tensor):
    pass


def like(x, other):
    return x.as_subclass(type(other))


def run(compile):
    return compile(lambda x, y: like(x, y) + 1)(torch.ones(2), torch.ones(2).as_subclass(Kind)).tolist()


def fix(compile):
    return compile(lambda x: x.as_subclass(Kind) + 1)(torch.ones(2)).tolist()
