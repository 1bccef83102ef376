"""accumulate with a keyword of reduce's name."""

CODE = "GB0154"
EAGER_ERROR = "TypeError"
import itertools

import torch


def run(compile):
    @compile
    def totals(x):
        return list(itertools.accumulate([x], initializer=x))

    return totals(torch.ones(2))


def fix(compile):
    @compile
    def totals(x):
        return list(itertools.accumulate([x], initial=x))

    return totals(torch.ones(2))
