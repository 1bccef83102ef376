"""The lower bound of uniform_ is passed as the keyword `from`."""

CODE = "GB0110"
import torch


def run(compile):
    bounds = {"from": 1.0, "to": 1.0}

    @compile
    def noise(x):
        return x.clone().uniform_(**bounds)

    return noise(torch.ones(2))


def fix(compile):
    @compile
    def noise(x):
        return x.clone().uniform_(1.0, 1.0)

    return noise(torch.ones(2))
