"""groupby with a keyword it does not have."""

CODE = "GB0155"
EAGER_ERROR = "TypeError"
import itertools

import torch


def run(compile):
    @compile
    def count(x):
        return x * len(list(itertools.groupby([1, 1, 2], reverse=True)))

    return count(torch.ones(2))


def fix(compile):
    @compile
    def count(x):
        return x * len(list(itertools.groupby([1, 1, 2], key=lambda n: -n)))

    return count(torch.ones(2))
