"""A module takes what it lacks from a dictionary."""

CODE = "GB0211"
import torch


class Scaled(torch.nn.Module):
    __getattr__ = {"factor": 3}.get

    def forward(self, x):
        try:
            return x * self.factor
        except AttributeError:
            return x


def run(compile):
    module = Scaled()
    return compile(lambda x: module.forward(x))(torch.ones(2))


class Plain(torch.nn.Module):
    def __getattr__(self, name):
        return 3 if name == "factor" else super().__getattr__(name)

    def forward(self, x):
        return x * self.factor


def fix(compile):
    module = Plain()
    return compile(lambda x: module.forward(x))(torch.ones(2))
