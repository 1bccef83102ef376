"""Groups are told apart by tensors."""

CODE = "GB0152"
import itertools

import torch


def run(compile):
    @compile
    def first_group(x):
        for _, members in itertools.groupby([x[0], x[1]], key=lambda v: v.sum() > 1):
            return list(members)

    return first_group(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))


def fix(compile):
    @compile
    def first_group(x, large):
        for _, members in itertools.groupby([0, 1], key=lambda i: large[i]):
            return [x[i] for i in members]

    return first_group(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), [True, True])
