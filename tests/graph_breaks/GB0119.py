"""A module whose __init__ forgot its parent class."""

CODE = "GB0119"
import torch


class Forgetful(torch.nn.Module):
    def __init__(self):
        pass

    def twice(self, x):
        return x * 2


class Careful(Forgetful):
    def __init__(self):
        torch.nn.Module.__init__(self)


def use(compile, kind):
    module = kind()

    @compile
    def f(x):
        return module.twice(x) + 1

    return f(torch.tensor([2.0, 3.0]))


def run(compile):
    return use(compile, Forgetful)


def fix(compile):
    return use(compile, Careful)
