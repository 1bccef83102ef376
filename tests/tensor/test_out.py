"""`out=` of functions: what it holds, what comes back, what it refuses; eager and compiled."""

import warnings

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same


def test_the_result_is_written_and_given_back():
    x, y = torch.arange(6.0).reshape(2, 3), torch.ones(2, 3)
    out = torch.zeros(2, 3)
    assert torch.add(x, y, out=out) is out and out.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert torch.mm(x, y.t(), out=torch.empty(0)).tolist() == [[3, 3], [12, 12]]
    wide = torch.zeros(2, 3, dtype=torch.float64)
    assert torch.mul(x, 2, out=wide) is wide and wide.dtype is torch.float64 and wide[1, 2].item() == 10
    part = torch.zeros(2, 6)[:, ::2]
    torch.sub(x, 1, out=part)
    np.testing.assert_array_equal(part.numpy(), x.numpy() - 1)
    assert torch.sin(x, out=None).tolist() == x.sin().tolist()
    assert torch.add(x[0], x[1], out=x[0]).tolist() == [3, 5, 7] and x[0].tolist() == [3, 5, 7]


def test_several_results():
    values, places = torch.empty(0), torch.empty(0, dtype=torch.int64)
    result = torch.sort(torch.tensor([3.0, 1.0, 2.0]), out=(values, places))
    assert result.values is values and result.indices is places
    assert values.tolist() == [1, 2, 3] and places.tolist() == [1, 2, 0]


def test_other_sizes_are_taken_over_with_a_warning():
    out = torch.zeros(5)
    with pytest.warns(UserWarning, match="resized"):
        torch.add(torch.ones(2, 2), 1, out=out)
    assert out.tolist() == [[2, 2], [2, 2]]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.add(torch.ones(3), 1, out=torch.empty(0))


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: torch.add(x, 0.5, out=torch.empty(2, dtype=torch.int64)), RuntimeError),
        (lambda x: torch.add(x, 1, out=[1]), TypeError),
        (lambda x: torch.sort(x, out=(x,)), TypeError),
        (lambda x: torch.transpose(x[None], 0, 1, out=x), TypeError),
        (lambda x: x.add(1, out=x), TypeError),
        (lambda x: torch.add(x, 1, out=torch.ones(2, requires_grad=True)), RuntimeError),
    ],
)
def test_what_out_cannot_be(call, error):
    with pytest.raises(error):
        call(torch.ones(2))


def operands():
    return (torch.arange(6.0).reshape(2, 3), torch.full((2, 3), 7.0)), {}


def test_compiled():
    def add(x, out):
        y = torch.add(x, 1, out=out)
        return y is out, y * 2, torch.mm(x, x.t(), out=None)

    def several(x, out):
        places = torch.empty(2, 3, dtype=torch.int64)
        return torch.sort(x, 1, True, out=(out, places))[1], places

    def narrower(x, out):
        return torch.mul(x, 0.5, out=torch.zeros(2, 3, dtype=torch.float64)), out

    for function in (add, several, narrower):
        args, _ = operands()
        expected = function(*args)
        torch._dynamo.reset()
        again, _ = operands()
        result = torch.compile(function, fullgraph=True)(*again)
        for a, b in zip((*result, *again), (*expected, *args)):
            assert a is b if isinstance(a, bool) else a.tolist() == b.tolist()


def test_what_a_graph_cannot_store_is_left_to_the_function():
    def resized(x, out):
        torch.add(x, 1, out=out.new_empty(0))
        return out

    def refused(x, out):
        return torch.add(x, 0.5, out=torch.empty(2, 3, dtype=torch.int32))

    for function in (resized, refused):
        same(function, lambda: operands()[0])


def test_limits_are_constants_of_compiled_code():
    def limits(x):
        info = torch.finfo(x.dtype)
        return x.clamp(info.min, info.max) + info.eps, info.tiny, torch.iinfo(torch.int16).max

    x = torch.tensor([1.0, float("inf")])
    torch._dynamo.reset()
    result, expected = torch.compile(limits, fullgraph=True)(x), limits(x)
    assert result[0].tolist() == expected[0].tolist() and result[1:] == expected[1:]
