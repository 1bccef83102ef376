"""operator.index makes a number of a tensor."""

CODE = "GB0218"
import operator

import torch


def run(compile):
    table = [1.0, 2.0]

    @compile
    def looked_up(x, at):
        return x * table[operator.index(at)]

    return looked_up(torch.ones(2), torch.tensor(1))


def fix(compile):
    table = torch.tensor([1.0, 2.0])

    @compile
    def looked_up(x, at):
        return x * table[at]

    return looked_up(torch.ones(2), torch.tensor(1))
