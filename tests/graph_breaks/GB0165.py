"""The autograd engine is asked for its state."""

CODE = "GB0165"
import torch

ENGINE = torch.autograd.Variable._execution_engine


def run(compile):
    @compile
    def f(x):
        return x + 1 if ENGINE.is_checkpoint_valid() else x

    return f(torch.ones(2))


def fix(compile):
    valid = ENGINE.is_checkpoint_valid()

    @compile
    def f(x):
        return x + 1 if valid else x

    return f(torch.ones(2))
