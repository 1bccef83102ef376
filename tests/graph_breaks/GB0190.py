"""Passes a tensor where getattr() needs an attribute name."""

CODE = "GB0190"
EAGER_ERROR = "TypeError"
import torch


class Bank:
    low = 1
    high = 10


def run(compile):
    bank = Bank()

    @compile
    def pick(x):
        name = x.sum()
        return x * getattr(bank, name)

    return pick(torch.tensor([1.0, 2.0]))


def fix(compile):
    bank = Bank()

    @compile
    def pick(x):
        return x * bank.high

    return pick(torch.tensor([1.0, 2.0]))
