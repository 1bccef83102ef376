"""A module that is pinned looks its attributes up itself, by code that cannot be traced."""

CODE = "GB0031"
import torch


class Reporting(torch.nn.Module):
    torchdynamo_force_dynamic = False

    def __init__(self):
        super().__init__()
        self.factor = 4.0
        self.reads = []

    def __getattribute__(self, name):
        if name == "gain":
            print("", end="")
            return 2.0
        return super().__getattribute__(name)

    def forward(self, x):
        return x * self.gain


def run(compile):
    return compile(Reporting())(torch.ones(2))


class Doubling(torch.nn.Module):
    """Not pinned: what its look-up does is traced."""

    def __init__(self):
        super().__init__()
        self.factor = 4.0

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return value * 2 if name == "factor" else value

    def forward(self, x):
        return x * self.factor


def fix(compile):
    return compile(Doubling())(torch.ones(2))
