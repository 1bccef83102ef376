"""A module runs the constructor of nn.Module while it computes."""

CODE = "GB0162"
LISTED = True
import torch


class Restart(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.factor = 2.0

    def forward(self, x):
        y = x * self.factor
        torch.nn.Module.__init__(self)
        return y


class Steady(Restart):
    def forward(self, x):
        return x * self.factor


def run(compile):
    return compile(Restart())(torch.tensor([2.0, 3.0]))


def fix(compile):
    return compile(Steady())(torch.tensor([2.0, 3.0]))
