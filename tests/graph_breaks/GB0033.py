"""torch.equal turns tensor contents into a Python bool."""

CODE = "GB0033"
import torch


def run(compile):
    @compile
    def merge(a, b):
        same = torch.equal(a, b)
        return a + b, same

    return merge(torch.ones(3), torch.ones(3))


def fix(compile):
    @compile
    def merge(a, b):
        return a + b, (a == b).all()

    return merge(torch.ones(3), torch.ones(3))
