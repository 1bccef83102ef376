"""A class method that is implemented in C."""

CODE = "GB0177"
import torch


class Named:
    title = classmethod(ascii)


def run(compile):
    named = Named()

    @compile
    def f(x):
        return x * 2, named.title()

    return f(torch.tensor([2.0, 3.0]))


def fix(compile):
    title = Named().title()

    @compile
    def f(x):
        return x * 2, title

    return f(torch.tensor([2.0, 3.0]))
