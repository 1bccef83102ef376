"""Calls compiled and with symbolic sizes give the bits of eager ones, in one graph."""

import numpy as np

import minidynamo as torch


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def elements(tensor):
    """As NumPy's elements of the same width. NumPy has no bfloat16: float32 has all its values, each with bits of its
    own."""
    tensor = tensor.detach()
    return np.ascontiguousarray((tensor.float() if tensor.dtype is torch.bfloat16 else tensor).numpy())


def assert_same_bits(a, b, what=""):
    """Bits as integers: -0.0 is not 0.0. By the rule of docs/numerics.md any NaN equals any NaN."""
    assert a.dtype == b.dtype and a.shape == b.shape, what
    unequal = a.reshape(-1).view(f"u{a.itemsize}") != b.reshape(-1).view(f"u{b.itemsize}")
    if a.dtype.kind == "f":
        unequal &= ~(np.isnan(a) & np.isnan(b)).reshape(-1)
    at = np.flatnonzero(unequal)
    assert at.size == 0, (
        f"{what} {at.size} elements of {a.size}; {at[0]}: {a.flat[at[0]]!r} instead of {b.flat[at[0]]!r}"
    )


def assert_same(result, expected):
    assert len(flat(result)) == len(flat(expected))
    for a, b in zip(flat(result), flat(expected)):
        assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride()
        assert_same_bits(elements(a), elements(b))


def agree(function, *operands, again=()):
    """Eager, compiled, and then (with sizes that change) on each set of operands in `again`. Gives eager's result."""
    expected = function(*operands)
    torch._dynamo.reset()
    compiled = torch.compile(function, fullgraph=True)
    assert_same(compiled(*operands), expected)
    for others in again:
        assert_same(compiled(*others), function(*others))
    traced = torch.compile(function, backend="eager", fullgraph=True)
    assert_same(traced(*operands), expected)
    return expected
