"""Calls issubclass() with a tensor instead of its class."""

CODE = "GB0195"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def check(x):
        y = x + 1
        if issubclass(y, torch.Tensor):
            return y * 2
        return y

    return check(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def check(x):
        y = x + 1
        if issubclass(type(y), torch.Tensor):
            return y * 2
        return y

    return check(torch.tensor([1.0, 2.0]))
