"""Calls typing.cast with only the type, forgetting the value."""

CODE = "GB0174"
EAGER_ERROR = "TypeError"
import typing

import torch


def run(compile):
    @compile
    def typed_sum(x):
        total = x.sum()
        return typing.cast(torch.Tensor)

    return typed_sum(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def typed_sum(x):
        total = x.sum()
        return typing.cast(torch.Tensor, total)

    return typed_sum(torch.tensor([1.0, 2.0]))
