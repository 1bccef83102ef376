"""The guard of a tensor's version is handed to the caller."""

CODE = "GB0209"
import torch


def run(compile):
    @compile
    def kept(x):
        guard = torch.autograd._unsafe_preserve_version_counter(x)
        return x + 1, guard

    return kept(torch.ones(2))[0]


def fix(compile):
    @compile
    def step(x):
        return x + 1

    x = torch.ones(2)
    with torch.autograd._unsafe_preserve_version_counter(x):
        return step(x)
