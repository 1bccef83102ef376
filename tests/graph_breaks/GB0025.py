"""An explicit graph break is requested between two tensor operations."""

CODE = "GB0025"
import torch


def run(compile):
    @compile
    def two_steps(x):
        y = x + 1
        torch._dynamo.graph_break()
        return y * 2

    return two_steps(torch.ones(3))


def fix(compile):
    @compile
    def two_steps(x):
        y = x + 1
        return y * 2

    return two_steps(torch.ones(3))
