"""An instance of a class below Tensor is made from sizes inside of the compiled function."""

CODE = "GB0026"
import torch


class Grid(torch.Tensor):
    pass


def run(compile):
    @compile
    def blank(x):
        cells = Grid(2, 3).fill_(1.5)
        return cells.sum(0) + x

    return blank(torch.arange(3.0)).tolist()


def fix(compile):
    @compile
    def blank(x):
        cells = Grid(torch.full((2, 3), 1.5))
        return cells.sum(0) + x

    return blank(torch.arange(3.0)).tolist()
