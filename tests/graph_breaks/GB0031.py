"""A module looks its attributes up itself."""

CODE = "GB0031"
import torch


class Doubling(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 4.0

    def __getattribute__(self, name):
        value = super().__getattribute__(name)
        return value * 2 if name == "factor" else value

    def forward(self, x):
        return x * self.factor


def run(compile):
    return compile(Doubling())(torch.ones(2))


class Plain(torch.nn.Module):
    factor = 8.0

    def forward(self, x):
        return x * self.factor


def fix(compile):
    return compile(Plain())(torch.ones(2))
