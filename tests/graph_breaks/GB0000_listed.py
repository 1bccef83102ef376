"""The only class that is asked stands in a list among the arguments, and declines."""

CODE = "GB0000"
EAGER_ERROR = "TypeError"
import torch


class Declining(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented


def joined(parts):
    return torch.cat(parts)


def run(compile):
    return compile(lambda x, y: joined([x, y]))(torch.ones(2), torch.ones(2).as_subclass(Declining))
