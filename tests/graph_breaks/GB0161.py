"""A module marked as one that never changes reads a list of its class."""

CODE = "GB0161"
import torch


def run(compile):
    class Steps(torch.nn.Module):
        torchdynamo_force_dynamic = False
        factors = [2.0, 3.0]

        def forward(self, x):
            return x * self.factors[1]

    return compile(Steps())(torch.ones(2))


def fix(compile):
    class Steps(torch.nn.Module):
        torchdynamo_force_dynamic = False

        def __init__(self):
            super().__init__()
            self.factors = [2.0, 3.0]

        def forward(self, x):
            return x * self.factors[1]

    return compile(Steps())(torch.ones(2))
