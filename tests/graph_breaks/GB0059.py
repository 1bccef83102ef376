"""A progress line is printed from compiled code."""

CODE = "GB0059"
import torch


def run(compile):
    @compile
    def step(x):
        y = x * 3
        print("step finished")
        return y - 1

    return step(torch.ones(2))


def fix(compile):
    @compile
    def step(x):
        y = x * 3
        return y - 1

    out = step(torch.ones(2))
    print("step finished")
    return out
