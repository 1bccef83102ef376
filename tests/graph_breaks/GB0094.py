"""`yield from` an object whose iterator can only go forward."""

CODE = "GB0094"
LISTED = True
import torch


class Countdown:
    def __init__(self):
        self.n = 3

    def __next__(self):
        self.n -= 1
        if self.n < 0:
            raise StopIteration
        return self.n


class Whole(Countdown):
    def __iter__(self):
        return self


class Box:
    def __init__(self, kind):
        self.kind = kind

    def __iter__(self):
        return self.kind()


def numbers(kind):
    yield from Box(kind)


def use(compile, kind):
    @compile
    def f(x):
        for n in numbers(kind):
            x = x * 2 + n
        return x

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, Countdown)


def fix(compile):
    return use(compile, Whole)
