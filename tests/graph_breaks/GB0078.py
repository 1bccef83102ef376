"""nonstrict_trace of a lambda made in the compiled function."""

CODE = "GB0078"
import torch


def twice(t):
    return t + t


def run(compile):
    @compile
    def f(x):
        return torch._dynamo.nonstrict_trace(lambda t: t + t)(x) - 1

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return torch._dynamo.nonstrict_trace(twice)(x) - 1

    return f(torch.ones(2))
