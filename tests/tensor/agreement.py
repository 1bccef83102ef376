"""Calls compiled and with symbolic sizes give the bits of eager ones, in one graph."""

import numpy as np

import minidynamo as torch


def flat(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def assert_same(result, expected):
    assert len(flat(result)) == len(flat(expected))
    for a, b in zip(flat(result), flat(expected)):
        assert a.dtype is b.dtype and a.shape == b.shape and a.stride() == b.stride()
        np.testing.assert_array_equal(a.detach().float().numpy(), b.detach().float().numpy())


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
