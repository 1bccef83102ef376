"""A dictionary is made of keys that have no hash."""

CODE = "GB0183"
EAGER_ERROR = "TypeError"
import torch


def run(compile):
    @compile
    def f(x):
        return x * len(dict.fromkeys([{}, {}]))

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        table = dict.fromkeys(("a", "b", "a"), 2)
        return x * len(table) + table["b"], dict.fromkeys([1])

    return f(torch.ones(2))
