"""groupby gets its key by position."""

CODE = "GB0134"
import itertools

import torch


def tens(n):
    return n // 10


def run(compile):
    @compile
    def spread(x, numbers):
        for key, members in itertools.groupby(numbers, tens):
            x = x + key * len(list(members))
        return x

    return spread(torch.zeros(2), [1, 12, 13, 40])


def fix(compile):
    @compile
    def spread(x, numbers):
        for key, members in itertools.groupby(numbers, key=tens):
            x = x + key * len(list(members))
        return x

    return spread(torch.zeros(2), [1, 12, 13, 40])
