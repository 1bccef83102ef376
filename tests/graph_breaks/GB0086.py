"""The contexts of a checkpoint are bound to a tensor."""

CODE = "GB0086"
import functools

import torch

from minidynamo.utils.checkpoint import checkpoint, noop_context_fn


def contexts(unused):
    return noop_context_fn()


def run(compile):
    @compile
    def f(x):
        return checkpoint(torch.sin, x, context_fn=functools.partial(contexts, x * 2), use_reentrant=False)

    return f(torch.ones(2))


def fix(compile):
    @compile
    def f(x):
        return checkpoint(torch.sin, x, use_reentrant=False)

    return f(torch.ones(2))
