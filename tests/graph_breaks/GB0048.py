"""The identity of a NumPy array, which is traced as a tensor over its memory."""

CODE = "GB0048"
import numpy as np
import torch


def run(compile):
    samples = np.ones(2, dtype=np.float32)

    @compile
    def known(samples, x):
        return x + torch.from_numpy(samples), id(samples) == 0

    return known(samples, torch.ones(2))


def fix(compile):
    samples = np.ones(2, dtype=np.float32)

    @compile
    def known(samples, x, same):
        return x + torch.from_numpy(samples), same

    return known(samples, torch.ones(2), id(samples) == 0)
