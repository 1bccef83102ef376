"""A method of int is called on a size that may change."""

CODE = "GB0081"
import torch


def run(compile):
    @compile(dynamic=True)
    def padded(x):
        return x + x.shape[0].bit_length()

    return padded(torch.ones(5))


def fix(compile):
    x = torch.ones(5)

    @compile(dynamic=True)
    def padded(x, bits):
        return x + bits

    return padded(x, x.shape[0].bit_length())
