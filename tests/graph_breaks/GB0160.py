"""Calls next() directly on a dict instead of on an iterator over it."""

CODE = "GB0160"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def first_scale(x):
        scales = {2: "double", 3: "triple"}
        return x * next(scales)

    return first_scale(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def first_scale(x):
        scales = {2: "double", 3: "triple"}
        return x * next(iter(scales))

    return first_scale(torch.tensor([1.0, 2.0]))
