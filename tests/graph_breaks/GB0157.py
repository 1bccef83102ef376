"""How an array computed in the compiled function lies in memory is asked there."""

CODE = "GB0157"
import numpy as np
import torch


def run(compile):
    @compile
    def halve(a):
        b = a.T / 2
        return torch.from_numpy(b), bool(b.flags.c_contiguous)

    return halve(np.array([[2.0, 4.0]]))


def fix(compile):
    @compile
    def halve(a):
        return a.T / 2

    b = halve(np.array([[2.0, 4.0]]))
    return torch.from_numpy(b), True
