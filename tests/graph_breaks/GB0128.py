"""A tensor is pointed at memory of its own with other strides."""

CODE = "GB0128"
import torch


def run(compile):
    @compile
    def redirected(x):
        y = x * 2
        return y.set_(y.untyped_storage(), 1, (2,))

    return redirected(torch.ones(3))


def fix(compile):
    @compile
    def redirected(x):
        y = x * 2
        return y.as_strided((2,), (1,), 1)

    return redirected(torch.ones(3))
