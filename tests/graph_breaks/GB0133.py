"""accumulate without anything to add up."""

CODE = "GB0133"
EAGER_ERROR = "TypeError"
import itertools

import torch


def run(compile):
    @compile
    def totals(x):
        return x + sum(itertools.accumulate(func=max))

    return totals(torch.ones(2))


def fix(compile):
    @compile
    def totals(x):
        return x + sum(itertools.accumulate([1, 3, 2], func=max))

    return totals(torch.ones(2))
