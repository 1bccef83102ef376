"""nonstrict_trace of something that cannot be called."""

CODE = "GB0111"
EAGER_ERROR = "AssertionError"
import torch


def run(compile):
    @compile
    def f(x):
        return x + torch._dynamo.nonstrict_trace("sin")

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return x + torch._dynamo.nonstrict_trace(torch.sin)(x)

    return f(torch.ones(2))
