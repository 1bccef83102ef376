"""NumPy scalars in operations on tensors: Python numbers, as in plain calls."""

import operator

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.testing import CompileCounter

SCALARS = [
    np.int64(3),
    np.int8(-2),
    np.uint8(200),
    np.float64(2.5),
    np.float32(0.1),
    np.float16(1.5),
    np.bool_(True),
    np.float64("nan"),
    np.float32("-inf"),
    np.float64(-0.0),
]
TENSORS = [
    torch.arange(1.0, 4.0),
    torch.arange(3, dtype=torch.int32),
    torch.ones(2, dtype=torch.float64),
    torch.tensor([True, False]),
    torch.tensor(2.0),
    torch.tensor(2),
    torch.ones(2, dtype=torch.float16),
]


def operators(x, s):
    return x + s, s + x, x * s, s * x, x > s, s <= x, x == s, s != x, x / s, s / x


def functions(x, s):
    y = torch.add(x, s), x.mul(s), torch.where(x > 0, x, s), torch.full((2,), s), torch.maximum(x, x) * s
    return y, torch.full_like(x, 1) * s, torch.ones(3) * s


@pytest.mark.parametrize("fn", [operators, functions])
@pytest.mark.parametrize("s", SCALARS, ids=lambda s: f"{type(s).__name__}({s})")
def test_operations(fn, s):
    for x in TENSORS:
        same(fn, lambda x=x: (x, s), frames=1, breaks=[])


def test_in_place_and_by_name():
    for s in (np.int64(3), np.float32(0.5)):
        same(
            lambda x, s: (operator.iadd(x, s), x.mul_(s), x),
            lambda s=s: (torch.arange(1.0, 4.0), s),
            frames=1,
            breaks=[],
        )
        same(lambda x, s: torch.clamp(x, min=s), lambda s=s: (torch.arange(1.0, 4.0), s), frames=1, breaks=[])
        same(lambda x, s: x.fill_(s), lambda s=s: (torch.arange(1.0, 4.0), s), frames=1, breaks=[])
    same(lambda x, n: (x.reshape(n, -1), x.sum(n - n), x[:2]), lambda: (torch.ones(4), np.int64(2)))
    same(lambda x, n: (x.reshape(n, -1), torch.zeros(n)), lambda: (torch.ones(4), np.int64(2)), frames=1, breaks=[])


def test_what_makes_tensors_of_scalars():
    for s in SCALARS:
        same(lambda s: (torch.tensor(s), torch.as_tensor(s)), lambda s=s: (s,))
        same(lambda s: (torch.tensor([s, s]), torch.tensor(s, dtype=torch.float64)), lambda s=s: (s,))


def test_values_and_types_are_guarded():
    counter, x = CompileCounter(), torch.ones(2)
    f = torch.compile(lambda x, s: x * s, backend=counter)
    given = [np.float64(2), np.float32(2), np.int64(2), np.float64(3), np.float64("nan"), np.float64(0.0), -0.0]
    for number, s in enumerate(given, start=1):
        for _ in range(2):
            assert repr(f(x, s).tolist()) == repr((x * s).tolist())
        assert counter.frame_count == number
    for s in given:
        f(x, s)
    assert counter.frame_count == len(given)


def test_a_tensor_and_a_scalar_of_an_object():
    class Holder:
        scale = np.float32(0.5)

    holder = Holder()
    f = torch.compile(lambda h, x: x * h.scale + GLOBAL, fullgraph=True)
    assert f(holder, torch.ones(2)).tolist() == [3.5, 3.5]
    holder.scale = np.float32(2)
    assert f(holder, torch.ones(2)).tolist() == [5, 5]


GLOBAL = np.int64(3)


def test_scalars_with_arrays_stay_numpys():
    def f(a, s, x):
        return a * s, s + s, x * s, np.float32(s)

    same(f, lambda: (np.ones(2), np.float64(2.5), torch.ones(2)), frames=1, breaks=[])
