"""Calls id() on a list that was created inside the compiled function."""

CODE = "GB0191"
import torch


def run(compile):
    @compile
    def count_unique(x):
        parts = [x, x + 1]
        seen = {id(parts): parts}
        return parts[1] * len(seen)

    return count_unique(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def count_unique(x):
        parts = [x, x + 1]
        seen = {"parts": parts}
        return parts[1] * len(seen)

    return count_unique(torch.tensor([1.0, 2.0]))
