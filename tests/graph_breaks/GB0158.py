"""The bytes of an array are taken in the compiled function."""

CODE = "GB0158"
import numpy as np
import torch


def run(compile):
    @compile
    def packed(x, a):
        return x * 2, (a + 1).tobytes()

    return packed(torch.ones(2), np.array([1, 2], dtype=np.uint8))


def fix(compile):
    @compile
    def packed(x, a):
        return x * 2, a + 1

    x, a = packed(torch.ones(2), np.array([1, 2], dtype=np.uint8))
    return x, a.tobytes()
