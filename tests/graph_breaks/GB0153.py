"""A tensor chooses a layer."""

CODE = "GB0153"
import torch


def layers():
    chosen = torch.nn.ModuleList([torch.nn.ReLU(), torch.nn.Tanh()])
    return chosen


def run(compile):
    chosen = layers()

    @compile
    def f(x, k):
        return chosen[k](x)

    return f(torch.tensor([-1.0, 2.0]), torch.tensor(0))


def fix(compile):
    chosen = layers()

    @compile
    def f(x, k):
        return chosen[k](x)

    return f(torch.tensor([-1.0, 2.0]), 0)
