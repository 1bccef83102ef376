"""The in-place transposition is called through the class, on an argument."""

CODE = "GB0072"
import torch


def run(compile):
    @compile
    def flipped(m):
        torch.Tensor.t_(m)
        return m + 1

    return flipped(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))


def fix(compile):
    @compile
    def flipped(m):
        return torch.Tensor.t(m) + 1

    return flipped(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
