"""A fraction, whose class writes it in C, becomes text."""

CODE = "GB0005"
import decimal

import torch


def run(compile):
    price = decimal.Decimal("2.50")

    @compile
    def labelled(x):
        return x - 1, str(price)

    return labelled(torch.ones(2))


def fix(compile):
    price = str(decimal.Decimal("2.50"))

    @compile
    def labelled(x):
        return x - 1, price

    return labelled(torch.ones(2))
