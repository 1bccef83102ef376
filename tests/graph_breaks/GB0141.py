"""Taking id() of a tensor created inside the compiled function."""

CODE = "GB0141"
import torch


def run(compile):
    @compile
    def keep_order(x):
        y = x * 2
        if id(y) == id(x):
            return x
        return y + 1

    return keep_order(torch.ones(2))


def fix(compile):
    @compile
    def keep_order(x):
        y = x * 2
        if y is x:
            return x
        return y + 1

    return keep_order(torch.ones(2))
