"""A tensor says whether parameters of submodules count."""

CODE = "GB0202"
import torch


def layer():
    made = torch.nn.Sequential(torch.nn.Linear(2, 1))
    for parameter in made.parameters():
        parameter.requires_grad_(False).fill_(0.5)
    return made


def run(compile):
    made = layer()

    @compile
    def f(x):
        total = x.sum()
        for parameter in made.parameters(total > 0):
            total = total + parameter.sum()
        return total

    return f(torch.ones(2))


def fix(compile):
    made = layer()

    @compile
    def f(x):
        total = x.sum()
        for parameter in made.parameters(True):
            total = total + parameter.sum()
        return total

    return f(torch.ones(2))
