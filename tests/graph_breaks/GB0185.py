"""An array of texts takes part in the compiled function."""

CODE = "GB0185"
import numpy as np
import torch


def run(compile):
    @compile
    def shares(x, names):
        return x / len(names)

    return shares(torch.ones(3), np.array(["one", "two"]))


def fix(compile):
    @compile
    def shares(x, names):
        return x / len(names)

    return shares(torch.ones(3), ["one", "two"])
