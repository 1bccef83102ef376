"""A callback is queued where no backward pass runs."""

CODE = "GB0166"
EAGER_ERROR = "RuntimeError"
import torch

ENGINE = torch.autograd.Variable._execution_engine


def run(compile):
    @compile
    def f(x):
        y = x + 1
        ENGINE.queue_callback(lambda: None)
        return y

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return x + 1

    return f(torch.ones(2))
