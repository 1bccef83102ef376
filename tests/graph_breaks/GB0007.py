"""A thread identifier is queried in the middle of the computation."""

CODE = "GB0007"
import threading

import torch


def run(compile):
    @compile
    def tagged(x):
        y = x * 2
        ident = threading.get_ident()
        return y + (1 if ident else 0)

    return tagged(torch.ones(3))


def fix(compile):
    ident = threading.get_ident()

    @compile
    def tagged(x):
        y = x * 2
        return y + (1 if ident else 0)

    return tagged(torch.ones(3))
