"""A list that holds itself comes in."""

CODE = "GB0197"
LISTED = True
import torch


def run(compile):
    @compile
    def f(items):
        return items[0] + len(items)

    items = [torch.tensor([2.0, 3.0])]
    items.append(items)
    return f(items)


def fix(compile):
    @compile
    def f(items):
        return items[0] + len(items)

    return f([torch.tensor([2.0, 3.0]), []])
