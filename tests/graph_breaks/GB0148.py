"""A column vector is made of the argument itself, in place."""

CODE = "GB0148"
import torch


def run(compile):
    @compile
    def outer(row, column):
        column.unsqueeze_(1)
        return row * column

    column = torch.tensor([1.0, 2.0])
    return outer(torch.tensor([3.0, 4.0, 5.0]), column), column


def fix(compile):
    @compile
    def outer(row, column):
        return row * column.unsqueeze(1)

    return outer(torch.tensor([3.0, 4.0, 5.0]), torch.tensor([1.0, 2.0]))
