"""Raising an exception that nothing inside the compiled function catches."""

CODE = "GB0088"
EAGER_ERROR = "ValueError"
import torch


def run(compile):
    @compile
    def checked_sqrt(x, limit):
        if limit < 0:
            raise ValueError("limit must not be negative")
        return x.sqrt() + limit

    return checked_sqrt(torch.ones(2), -1)


def fix(compile):
    @compile
    def clamped_sqrt(x, limit):
        if limit < 0:
            limit = 0
        return x.sqrt() + limit

    return clamped_sqrt(torch.ones(2), -1)
