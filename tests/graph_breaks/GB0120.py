"""A value is sent through `yield from` to an inner generator."""

CODE = "GB0120"
LISTED = True
import torch


def inner(v):
    factor = yield v
    yield v * factor


def outer(v):
    yield from inner(v)


def use(compile, generator):
    @compile
    def f(x):
        g = generator(x)
        first = next(g)
        return first + g.send(3)

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, outer)


def fix(compile):
    return use(compile, inner)
