"""A string is raised as if it were an exception."""

CODE = "GB0057"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def check(x, limit):
        if x.shape[0] > limit:
            raise "too long"
        return x * 2

    return check(torch.ones(3), 2)


def fix(compile):
    @compile
    def check(x, limit):
        if x.shape[0] > limit:
            return x[:limit] * 2
        return x * 2

    return check(torch.ones(3), 2)
