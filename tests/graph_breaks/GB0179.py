"""Deep-copies a tensor inside the compiled function before changing it."""

CODE = "GB0179"
import copy

import torch


def run(compile):
    @compile
    def safe_increment(x):
        backup = copy.deepcopy(x)
        x.add_(1)
        return x - backup

    return safe_increment(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def safe_increment(x):
        backup = x.clone()
        x.add_(1)
        return x - backup

    return safe_increment(torch.tensor([1.0, 2.0]))
