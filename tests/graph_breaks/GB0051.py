"""A tuple in an except clause mixes an exception class with a string."""

CODE = "GB0051"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def lookup(x, table):
        try:
            return x + table["bias"]
        except (ValueError, "KeyError"):
            return x

    return lookup(torch.ones(2), {})


def fix(compile):
    @compile
    def lookup(x, table):
        try:
            return x + table["bias"]
        except (ValueError, KeyError):
            return x

    return lookup(torch.ones(2), {})
