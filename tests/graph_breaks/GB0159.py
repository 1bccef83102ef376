"""The version of a library is looked for on one of its arrays."""

CODE = "GB0159"
import numpy as np
import torch


def run(compile):
    @compile
    def described(x, a):
        return x + torch.from_numpy(a), hasattr(a, "ndim"), getattr(a * 2, "__version__", None)

    return described(torch.ones(2), np.ones(2, dtype=np.float32))


def fix(compile):
    @compile
    def described(x, a):
        return x + torch.from_numpy(a), hasattr(a, "ndim")

    return *described(torch.ones(2), np.ones(2, dtype=np.float32)), None
