"""The except clause names a list of exception classes instead of a tuple."""

CODE = "GB0050"
EAGER_ERROR = "TypeError"
import torch

RECOVERABLE = [KeyError, ValueError]


def run(compile):
    @compile
    def lookup(x, table):
        try:
            return x * table["gain"]
        except RECOVERABLE:
            return x

    return lookup(torch.ones(2), {})


def fix(compile):
    recoverable = (KeyError, ValueError)

    @compile
    def lookup(x, table):
        try:
            return x * table["gain"]
        except recoverable:
            return x

    return lookup(torch.ones(2), {})
