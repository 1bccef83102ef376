"""The type of a tensor's method that works in place is asked for."""

CODE = "GB0175"
import types

import torch


def run(compile):
    @compile
    def shifted(x):
        bound = isinstance(x.unsqueeze_, types.MethodType)
        return x + bound

    return shifted(torch.ones(2))


def fix(compile):
    @compile
    def shifted(x):
        return x + callable(torch.Tensor.unsqueeze_)

    return shifted(torch.ones(2)) - 1
