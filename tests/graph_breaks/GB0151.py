"""The signature of a callable object is asked for."""

CODE = "GB0151"
import inspect

import torch


class Scaled:
    def __call__(self, x, factor=2):
        return x * factor


def run(compile):
    scaled = Scaled()

    @compile
    def f(x):
        return scaled(x, len(inspect.signature(scaled).parameters))

    return f(torch.ones(2))


def fix(compile):
    scaled = Scaled()
    count = len(inspect.signature(scaled).parameters)

    @compile
    def f(x):
        return scaled(x, count)

    return f(torch.ones(2))
