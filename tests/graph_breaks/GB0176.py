"""id() of an attribute that code run at compile time has replaced."""

CODE = "GB0176"
import torch


class Box:
    pass


def run(compile):
    box = Box()
    box.item = torch.ones(2)

    @torch.compiler.assume_constant_result
    def replace():
        box.item = torch.zeros(2)
        return 1

    @compile
    def f(x, box):
        item = box.item
        n = replace()
        return x + n, id(item) == id(item)

    return f(torch.ones(2), box)


def fix(compile):
    box = Box()
    box.item = torch.ones(2)

    @compile
    def f(x, box):
        item = box.item
        return x + 1, item is box.item

    return f(torch.ones(2), box)
