"""Copying one exception's traceback onto another by assigning __traceback__."""

CODE = "GB0095"
import torch


def run(compile):
    @compile
    def retry(x):
        y = x
        try:
            raise ValueError("first")
        except ValueError as first:
            second = RuntimeError("second")
            second.__traceback__ = first.__traceback__
            y = y + 1
        return y * 2

    return retry(torch.ones(2))


def fix(compile):
    @compile
    def retry(x):
        y = x
        try:
            raise ValueError("first")
        except ValueError:
            second = RuntimeError("second")
            second.__traceback__ = None
            y = y + 1
        return y * 2

    return retry(torch.ones(2))
