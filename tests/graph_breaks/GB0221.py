"""A context manager whose function returns an iterator instead of yielding."""

CODE = "GB0221"
LISTED = True
import contextlib

import torch


@contextlib.contextmanager
def returning():
    return iter_three()


def iter_three():
    yield 3


@contextlib.contextmanager
def yielding():
    yield 3


def use(compile, manager):
    @compile
    def f(x):
        with manager() as n:
            return x * n

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, returning)


def fix(compile):
    return use(compile, yielding)
