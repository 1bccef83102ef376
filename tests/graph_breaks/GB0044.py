"""A wrapper around a strided nested tensor, in a list: it has sizes, what it holds has none."""

CODE = "GB0044"

import torch


class Padded(torch.Tensor):
    @staticmethod
    def __new__(cls, rows, width):
        return torch.Tensor._make_wrapper_subclass(cls, (2, width), dtype=rows.dtype)

    def __init__(self, rows, width):
        self.rows, self.width = rows, width

    def __tensor_flatten__(self):
        return ["rows"], self.width

    @staticmethod
    def __tensor_unflatten__(inner, width, size, stride):
        return Padded(inner["rows"], width)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        raise NotImplementedError(str(func))


def run(compile):
    padded = Padded(torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]), 3)
    return compile(lambda x, batch: x + batch[0].size(1))(torch.ones(2), [padded])


def fix(compile):
    padded = Padded(torch.ones(2, 3), 3)
    return compile(lambda x, batch: x + batch[0].size(1))(torch.ones(2), [padded])
