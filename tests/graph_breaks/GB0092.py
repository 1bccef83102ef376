"""An iterator over a dict made inside is handed to the caller."""

CODE = "GB0092"
import torch


def run(compile):
    @compile
    def names(x):
        return x + 1, iter({"a": 1, "b": 2})

    y, found = names(torch.ones(2))
    return y, list(found)


def fix(compile):
    @compile
    def names(x):
        return x + 1, list({"a": 1, "b": 2})

    return names(torch.ones(2))
