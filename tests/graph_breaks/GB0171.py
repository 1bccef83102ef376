"""Raises AssertionError with a number as its message and handles it."""

CODE = "GB0171"
import torch


def run(compile):
    @compile
    def checked(x):
        y = x * 2
        try:
            raise AssertionError(404)
        except AssertionError:
            y = y + 1
        return y

    return checked(torch.tensor([1.0, 2.0]))


def fix(compile):
    @compile
    def checked(x):
        y = x * 2
        try:
            raise AssertionError("404")
        except AssertionError:
            y = y + 1
        return y

    return checked(torch.tensor([1.0, 2.0]))
