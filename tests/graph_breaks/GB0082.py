"""Deleting a global name from inside the compiled function."""

CODE = "GB0082"
import torch


def run(compile):
    global token

    @compile
    def spend(x):
        global token
        y = x + token
        del token
        return y

    token = 5
    return spend(torch.ones(2))


def fix(compile):
    @compile
    def spend(x, token):
        return x + token

    return spend(torch.ones(2), 5)
