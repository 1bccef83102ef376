"""Composite calls on large tensors run row by row (ir/run/sweep.h): bits are those of their parts on small pieces."""

import numpy as np
import pytest

import minidynamo as torch
from minidynamo.nn import functional as F

BY_ROWS = {
    "softmax": lambda x: torch.softmax(x, -1),
    "log_softmax": lambda x: torch.log_softmax(x, -1),
    "softmin": lambda x: F.softmin(x, -1),
    "normalize": lambda x: F.normalize(x, dim=-1),
    "logsumexp": lambda x: torch.logsumexp(x, -1, True),
}
BY_ELEMENTS = {
    "gelu": F.gelu,
    "gelu tanh": lambda x: F.gelu(x, approximate="tanh"),
    "mish": F.mish,
    "softplus": F.softplus,
    "elu": F.elu,
    "hardswish": F.hardswish,
    "nan_to_num": torch.nan_to_num,
    "clamp": lambda x: torch.clamp(x, -0.5, 0.5),
    "cube": lambda x: x**3,
    "addcdiv": lambda x: torch.addcdiv(x, x, x + 9, value=0.3),
    "logaddexp": lambda x: torch.logaddexp(x, x * 2),
}
DTYPES = [torch.float32, torch.float64, torch.float16]
SHAPES = [(130, 300), (3, 7, 2500), (20, 1024), (2, 9000), (2, 17000), (900, 20)]


def values(shape):
    x = np.random.default_rng(3).standard_normal(shape)
    x.reshape(-1)[::97], x.reshape(-1)[5::301], x.reshape(-1)[7::333] = np.nan, np.inf, -0.0
    return x


def bits(tensor):
    array = tensor.numpy()
    numbers = array.view(f"u{array.itemsize}")
    return np.where(np.isnan(array), 1, numbers)


def in_pieces(function, x, length):
    """The results for pieces of so many elements, which are too small for a sweep."""
    pieces = x.reshape(-1, length) if length else x.reshape(-1)
    step = 1 if length else 1000
    return torch.cat([function(pieces[i : i + step]) for i in range(0, len(pieces), step)])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BY_ROWS)
def test_rows_are_what_their_parts_give(name, dtype):
    for shape in SHAPES:
        x = torch.from_numpy(values(shape)).to(dtype)
        result = BY_ROWS[name](x)
        expected = in_pieces(BY_ROWS[name], x, shape[-1])
        np.testing.assert_array_equal(bits(result), bits(expected).reshape(result.shape))
        assert result.is_contiguous() and result.dtype == dtype


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BY_ELEMENTS)
def test_elements_are_what_their_parts_give(name, dtype):
    x = torch.from_numpy(values(50_001)).to(dtype)
    np.testing.assert_array_equal(bits(BY_ELEMENTS[name](x)), bits(in_pieces(BY_ELEMENTS[name], x, 0)))


def test_what_cannot_be_swept_runs_part_by_part():
    x = torch.from_numpy(values((200, 300))).float()
    first = torch.softmax(x, 0)
    np.testing.assert_array_equal(bits(first), bits(torch.softmax(x.T.contiguous(), -1).T))
    np.testing.assert_array_equal(bits(torch.softmax(x.T, -1)), bits(first.T))
    one = torch.softmax(x[:, :1].contiguous().expand(200, 300).contiguous().view(60_000, 1), -1)
    np.testing.assert_array_equal(bits(one), bits(x[:, :1].expand(200, 300).reshape(60_000, 1) * 0 + 1))
    assert torch.clamp(x, max=x[0]).shape == x.shape and torch.softmax(x.to(torch.bfloat16), -1).dtype == torch.bfloat16


def test_threads_and_gradients_do_not_matter():
    x = torch.from_numpy(values((400, 1500))).float()
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = torch.log_softmax(x, -1)
        torch.set_num_threads(3)
        np.testing.assert_array_equal(bits(torch.log_softmax(x, -1)), bits(expected))
    finally:
        torch.set_num_threads(threads)
    assert torch.softmax(x.requires_grad_(), -1).requires_grad
    with torch.no_grad():
        assert not torch.softmax(x, -1).requires_grad
