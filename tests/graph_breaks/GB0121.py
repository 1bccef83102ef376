"""A method of a module is object's own under another name."""

CODE = "GB0121"
import torch


class Named(torch.nn.Module):
    describe = object.__repr__

    def forward(self, x):
        return x * 2 if "Named" in self.describe() else x


def run(compile):
    return compile(Named())(torch.ones(2))


class Plain(Named):
    def describe(self):
        return "Named"


def fix(compile):
    return compile(Plain())(torch.ones(2))
