"""Adds a number drawn while the function runs to another number."""

CODE = "GB0213"
import random

import minidynamo as torch


def run(compile):
    @compile
    def noisy(x):
        return x * (random.uniform(0.0, 1.0) + 0.5)

    random.seed(8)
    return noisy(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def noisy(x):
        return x * random.uniform(0.0, 1.0) + x * 0.5

    random.seed(8)
    return noisy(torch.tensor([1.0, 2.0]))
