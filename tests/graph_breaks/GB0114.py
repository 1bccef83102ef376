"""A running maximum whose combining function prints."""

CODE = "GB0114"
import itertools

import torch


def larger(a, b):
    print("compare")
    return torch.maximum(a, b)


def run(compile):
    @compile
    def peaks(x):
        return list(itertools.accumulate([x, x * 0.5, x * 2], larger))

    return peaks(torch.tensor([1.0, -1.0]))


def fix(compile):
    @compile
    def peaks(x):
        return list(itertools.accumulate([x, x * 0.5, x * 2], torch.maximum))

    return peaks(torch.tensor([1.0, -1.0]))
