"""Asks for the text of a number drawn while the function runs."""

CODE = "GB0178"
import random

import minidynamo as torch


def run(compile):
    @compile
    def label(x):
        side = random.randint(1, 6)
        return x + side, chr(64 + 0) + str(side)

    random.seed(8)
    return label(torch.tensor([1, 2]))


def fix(compile):
    @compile
    def label(x, side):
        return x + side, chr(64 + 0) + str(side)

    random.seed(8)
    return label(torch.tensor([1, 2]), random.randint(1, 6))
