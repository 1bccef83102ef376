"""Operators of a program with formulas for their gradients, for tests.

They compute through NumPy, so that nothing but the formula can bring a gradient.
"""

import itertools

import numpy as np

import minidynamo as torch
from minidynamo.library import custom_op

_numbers = itertools.count()


def operator(schema, compute, backward=None, setup_context=None):
    """An operator of that schema under a name of its own."""
    op = custom_op(f"opgrad::op{next(_numbers)}", compute, mutates_args=(), schema=schema)
    if backward is not None:
        op.register_autograd(backward, setup_context=setup_context)
    return op


def array(tensor):
    return tensor.numpy(force=True)


def leaf(*values, wanted=True):
    return torch.tensor(values, dtype=torch.float32, requires_grad=wanted)


def keep_inputs(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def sine(name="(Tensor x) -> Tensor"):
    op = operator(
        name,
        lambda x: torch.from_numpy(np.sin(array(x))),
        lambda ctx, g: g * ctx.saved_tensors[0].cos(),
        keep_inputs,
    )
    op.register_fake(torch.empty_like)
    return op


def scaled_pair():
    """(x * k, y * s, x > 1), whose last result is not differentiable."""

    def compute(x, k, y, s=2.0):
        return torch.from_numpy(array(x) * k), torch.from_numpy(array(y) * np.float32(s)), x.detach() > 1

    def backward(ctx, a, b, c):
        seen.append((ctx.needs_input_grad, a, b, c))
        return a * ctx.k, None, b * ctx.s, None

    def setup(ctx, inputs, output):
        assert type(inputs) is tuple and type(output) is tuple and len(output) == 3
        _, ctx.k, _, ctx.s = inputs

    seen = []
    op = operator("(Tensor x, int k, Tensor y, float s=2.0) -> (Tensor, Tensor, Tensor)", compute, backward, setup)
    op.register_fake(lambda x, k, y, s=2.0: (torch.empty_like(x), torch.empty_like(y), torch.empty_like(x).bool()))
    return op, seen


def joined():
    def setup(ctx, inputs, output):
        ctx.sizes, ctx.n = [len(t) for t in inputs[0]], inputs[1]
        ctx.wanted_flat = ctx.needs_input_grad

    def backward(ctx, g):
        seen.append((ctx.wanted_flat, ctx.needs_input_grad))
        return list((g * ctx.n).split(ctx.sizes)), None

    seen = []
    op = operator(
        "(Tensor[] xs, int n) -> Tensor",
        lambda xs, n: torch.from_numpy(np.concatenate([array(x) for x in xs]) * n),
        backward,
        setup,
    )
    op.register_fake(lambda xs, n: torch.cat(xs))
    return op, seen


def halves():
    op = operator(
        "(Tensor x) -> Tensor[]",
        lambda x: [torch.from_numpy(array(x)[:1].copy()), torch.from_numpy(array(x)[1:].copy())],
        lambda ctx, grads: torch.cat(grads) * 3,
    )
    op.register_fake(lambda x: [x.new_empty(1), x.new_empty(x.shape[0] - 1)])
    return op
