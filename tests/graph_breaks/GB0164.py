"""A class below Tensor has a constant in the place of an attribute of tensors."""

CODE = "GB0164"
import torch


class Labelled(torch.Tensor):
    ndim = 7


def run(compile):
    return compile(lambda x: x * x.ndim)(torch.ones(2).as_subclass(Labelled)).tolist()


def fix(compile):
    class Measured(torch.Tensor):
        @property
        def ndim(self):
            return 7

    return compile(lambda x: x * x.ndim)(torch.ones(2).as_subclass(Measured)).tolist()
