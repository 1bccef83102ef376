"""Assignment to an item of an instance whose class has its own __setitem__."""

CODE = "GB0103"
LISTED = True
import torch


class Doubling(torch.Tensor):
    def __setitem__(self, place, value):
        super().__setitem__(place, value * 2)


def run(compile):
    @compile
    def put(cells, x):
        cells[1] = 4.0
        return cells + x

    return put(torch.zeros(3).as_subclass(Doubling), torch.ones(3)).tolist()


def fix(compile):
    @compile
    def put(cells, x):
        torch.Tensor.fill_(cells[1], 8.0)
        return cells + x

    return put(torch.zeros(3).as_subclass(Doubling), torch.ones(3)).tolist()
