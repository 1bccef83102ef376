"""Random differentiable programs, plain and compiled: results, gradients, what became of the arguments."""

import linecache
import os

import pytest

import minidynamo as torch

from .differentiable import program

SEEDS = int(os.environ.get("MINIDYNAMO_GRADIENT_PROGRAMS", "400"))
# Found by either when a value is written to that it reads again: plain autograd and compiled graphs read other ones.
TOLERATED = "modified by an inplace operation"


def function_of(source, seed):
    name = f"<differentiable {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {"torch": torch}
    exec(compile(source, name, "exec"), names)
    return names["f"]


def behaviour(f):
    """(results, the written argument, gradients of x, y and what z came from), or the error."""
    torch.manual_seed(0)
    x, y, base = (torch.randn(3, 4, dtype=torch.float64).requires_grad_() for _ in range(3))
    z = base * 1
    try:
        results = f(x, y, z)
        flowing = [r for r in (*results, z) if r.requires_grad]
        weights = [torch.linspace(0.5, 1.5, 12, dtype=torch.float64).reshape(3, 4) for _ in flowing]
        torch.autograd.backward(flowing, weights)
    except RuntimeError as error:
        return str(error)
    return [r.requires_grad for r in results], [*results, z, x.grad, y.grad, base.grad]


def same(a, b):
    if a is None or b is None:
        return a is b
    return a.shape == b.shape and torch.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)


def check(source, seed):
    f = function_of(source, seed)
    want = behaviour(f)
    for options in ({}, {"dynamic": True}, {"backend": "eager"}):
        torch._dynamo.reset()
        compiled = torch.compile(f, **options)
        for _ in range(2):
            got = behaviour(compiled)
            if isinstance(want, str):
                # Where plain Python raises for another reason, so does compiled code.
                assert TOLERATED in want or isinstance(got, str), f"{options}: no error, plain {want}\n{source}"
                continue
            if isinstance(got, str) and TOLERATED in got:
                continue
            assert not isinstance(got, str), f"{options}: {got}\n{source}"
            assert got[0] == want[0], f"{options}: requires_grad {got[0]}, plain {want[0]}\n{source}"
            wrong = [k for k, (a, b) in enumerate(zip(want[1], got[1], strict=True)) if not same(a, b)]
            assert not wrong, f"{options}: values {wrong} differ\n{source}"


@pytest.mark.parametrize("first", range(0, SEEDS, 20))
def test_random_programs(first, no_defects):
    for seed in range(first, first + 20):
        check(program(seed), seed)
