"""accumulate gets two functions."""

CODE = "GB0132"
EAGER_ERROR = "TypeError"
import itertools

import torch


def run(compile):
    @compile
    def totals(x):
        return list(itertools.accumulate([x, x], max, func=min))

    return totals(torch.ones(2))


def fix(compile):
    @compile
    def totals(x):
        return list(itertools.accumulate([x, x], func=torch.maximum))

    return totals(torch.ones(2))
