"""Runs of equal signs, where finding the sign prints."""

CODE = "GB0115"
import itertools

import torch


def sign(v):
    print(v)
    return v > 0


def run(compile):
    @compile
    def runs(x, steps):
        return x * len(list(itertools.groupby(steps, key=sign)))

    return runs(torch.ones(2), [1, 2, -1, 4])


def fix(compile):
    @compile
    def runs(x, steps):
        return x * len(list(itertools.groupby(steps, key=lambda v: v > 0)))

    return runs(torch.ones(2), [1, 2, -1, 4])
