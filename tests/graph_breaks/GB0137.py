"""Reading an attribute that slice objects do not have."""

CODE = "GB0137"
EAGER_ERROR = "AttributeError"
import torch


def run(compile):
    @compile
    def cut(x):
        part = slice(0, 2)
        return x[part] + part.length

    return cut(torch.arange(4.0))


def fix(compile):
    @compile
    def cut(x):
        part = slice(0, 2)
        return x[part] + (part.stop - part.start)

    return cut(torch.arange(4.0))
