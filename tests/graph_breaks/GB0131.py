"""A function that is called __setitem__ changes a list."""

CODE = "GB0131"
LISTED = True
import torch


def __setitem__(target, place, v):
    target.insert(place, v)


insert = __setitem__


def put(target, place, v):
    target.insert(place, v)


def use(compile, change):
    @compile
    def f(x):
        kept = [x]
        change(kept, 0, x * 2)
        return kept[0] + kept[1]

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, insert)


def fix(compile):
    return use(compile, put)
