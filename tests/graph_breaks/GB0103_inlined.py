"""The assignment stands in a method of a helper object, and the class answers calls itself."""

CODE = "GB0103"
LISTED = True
import torch


class Noting(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})

    def __setitem__(self, place, value):
        torch.Tensor.__setitem__(self, place, value)
        torch.Tensor.add_(self, 1)


class Writer:
    def __init__(self, cells):
        self.cells = cells

    def write(self, place, value):
        self.cells[place] = value


def write_all(writer):
    for place in range(2):
        writer.write(place, 5.0)


def run(compile):
    @compile
    def f(cells):
        write_all(Writer(cells))
        return cells * 2

    return f(torch.zeros(3).as_subclass(Noting)).tolist()
