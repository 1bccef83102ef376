"""A tensor becomes an array in compiled code while tracing of NumPy is switched off."""

CODE = "GB0105"
import torch
import torch._dynamo


def run(compile):
    @compile
    def doubled(x):
        return (x + 1).numpy().sum() * x

    with torch._dynamo.config.patch(trace_numpy=False):
        return doubled(torch.ones(3))


def fix(compile):
    @compile
    def doubled(x):
        return (x + 1).sum() * x

    with torch._dynamo.config.patch(trace_numpy=False):
        return doubled(torch.ones(3))
