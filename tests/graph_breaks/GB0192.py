"""itertools.cycle goes through a long sequence."""

CODE = "GB0192"
import itertools

import torch


def run(compile):
    @compile
    def last(x):
        pairs = list(zip(range(110_000), itertools.cycle(range(200_000))))
        return x + pairs[-1][1]

    return last(torch.ones(2))


def fix(compile):
    @compile
    def last(x):
        numbers = range(200_000)
        return x + numbers[109_999 % len(numbers)]

    return last(torch.ones(2))
