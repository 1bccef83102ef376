"""A local is only assigned on a branch that is not taken and then returned."""

CODE = "GB0011"
EAGER_ERROR = "UnboundLocalError"
import torch


def run(compile):
    @compile
    def pick(x, use_mean):
        if use_mean:
            value = x.mean()
        return value

    return pick(torch.ones(3), False)


def fix(compile):
    @compile
    def pick(x, use_mean):
        value = x
        if use_mean:
            value = x.mean()
        return value

    return pick(torch.ones(3), False)
