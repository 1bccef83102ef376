"""Reading an attribute that range objects do not have."""

CODE = "GB0136"
EAGER_ERROR = "AttributeError"
import torch


def run(compile):
    @compile
    def span(x):
        steps = range(2, 10, 2)
        return x + steps.length

    return span(torch.ones(2))


def fix(compile):
    @compile
    def span(x):
        steps = range(2, 10, 2)
        return x + len(steps)

    return span(torch.ones(2))
