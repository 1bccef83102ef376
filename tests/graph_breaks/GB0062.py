"""A starred assignment takes apart an object that cannot be iterated."""

CODE = "GB0062"
EAGER_ERROR = "TypeError"
import torch


class Record:
    def __init__(self, *fields):
        self.fields = fields


def run(compile):
    @compile
    def f(record):
        first, *rest = record
        return first + len(rest)

    return f(Record(torch.ones(2), 1, 2))


def fix(compile):
    @compile
    def f(record):
        first, *rest = record.fields
        return first + len(rest)

    return f(Record(torch.ones(2), 1, 2))
