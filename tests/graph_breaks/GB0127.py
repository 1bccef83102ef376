"""A tensor is resized in place to the size of another."""

CODE = "GB0127"
import torch


def run(compile):
    @compile
    def fitted(x, like):
        y = x.clone()
        return y.resize_as_(like) + 1

    return fitted(torch.ones(2, 2), torch.ones(4))


def fix(compile):
    @compile
    def fitted(x, like):
        return x.reshape(like.shape) + 1

    return fitted(torch.ones(2, 2), torch.ones(4))
