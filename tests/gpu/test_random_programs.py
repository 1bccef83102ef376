"""Random differentiable programs on a GPU: results and gradients have the CPU's bits, plain and compiled."""

import os
import re

import numpy
import pytest

import minidynamo as torch
from fuzz.differentiable import program

PROGRAMS = int(os.environ.get("MINIDYNAMO_GPU_PROGRAMS", "1000"))
EACH = 50  # programs of a test


def function_of(seed):
    scope = {"torch": torch}
    exec(compile(source_of(seed), f"<program {seed}>", "exec"), scope)  # noqa: S102  our own
    return scope["f"]


def source_of(seed):
    """The program, whose positions are on the device of its arguments."""
    return re.sub(r"torch\.tensor\((\[[\[\], 0-9]*\])\)", r"torch.tensor(\1, device=x.device)", program(seed))


def outcome(function, seed, device):
    """Results, the written argument and gradients, or the error."""
    numbers = numpy.random.default_rng(seed)
    x, y, base = (torch.tensor(numbers.standard_normal((3, 4))).to(device).requires_grad_() for _ in range(3))
    z = base * 1
    try:
        results = function(x, y, z)
        flowing = [r for r in (*results, z) if r.requires_grad]
        torch.autograd.backward(flowing, [torch.ones_like(r) for r in flowing])
        tensors = [*results, z, x.grad, y.grad, base.grad]
        return [None if t is None else t.detach().cpu().numpy() for t in tensors]
    except RuntimeError as error:
        return str(error)


def same(a, b):
    if isinstance(a, str) or isinstance(b, str):
        return a == b
    return len(a) == len(b) and all(
        x is y is None or (x.dtype == y.dtype and numpy.array_equal(x, y, equal_nan=True))
        for x, y in zip(a, b, strict=True)
    )


@pytest.mark.parametrize("first", range(0, PROGRAMS, EACH))
def test_programs(first):
    for seed in range(first, min(first + EACH, PROGRAMS)):
        function = function_of(seed)
        for way in (lambda f: f, torch.compile):
            expected, found = (outcome(way(function), seed, device) for device in ("cpu", "cuda"))
            assert same(expected, found), f"{source_of(seed)}\n{expected}\n{found}"
            torch._dynamo.reset()
