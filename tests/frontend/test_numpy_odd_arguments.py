"""Arrays and numbers no tensor has: compiled code does what NumPy does."""

import gc
import weakref

import numpy as np
import pytest

import minidynamo as torch
from frontend.arrays import agree, compare, outcome


def same(function, *args):
    """Plain and compiled agree on a result or an exception; nothing is said of graphs."""
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="eager")
    for _ in range(2):
        want, refused = outcome(function, args)
        got, error = outcome(compiled, args)
        assert type(error) is type(refused) and str(error) == str(refused)
        assert type(got) is type(want)
        np.testing.assert_array_equal(np.asarray(got), np.asarray(want))


ODD = {
    "matrix": np.matrix([[1.0, 2.0], [3.0, 4.0]]),
    "masked": np.ma.masked_array([1.0, 2.0, 3.0], [0, 1, 0]),
    "complex": np.array([1 + 2j, 3.0]),
    "longdouble": np.ones(3, np.longdouble),
    "unsigned": np.ones(3, np.uint32),
    "swapped": np.arange(3).astype(">i4"),
    "objects": np.array([1, 2.5, 3], object),
    "records": np.zeros(3, [("a", "f4"), ("b", "i4")])["b"],
    "unaligned": np.frombuffer(bytearray(25), np.uint8)[1:].view(np.float64),
    "backward": np.arange(6.0)[::-1],
    "fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "empty": np.zeros((0, 3)),
    "nothing": np.zeros(()),
    "broadcast": np.broadcast_to(np.arange(3.0), (2, 3)),
    "scalar": np.float32(2.5),
    "integer": np.int64(7),
    "truth": np.bool_(True),
}


@pytest.mark.parametrize("name", ODD)
def test_odd_arrays(name):
    same(lambda a: a + 1, ODD[name])
    same(lambda a: (a * 2).sum(), ODD[name])
    same(lambda a: np.asarray(a) == a, ODD[name])


NUMBERS = [2**70, -(2**70), 2**63, 1e400, float("nan"), 1j, None, "text", True, 10**400]


@pytest.mark.parametrize("number", NUMBERS, ids=str)
@pytest.mark.parametrize("dtype", ["float64", "int64", "uint8", "bool"])
def test_odd_numbers(number, dtype):
    with np.errstate(all="ignore"):
        same(lambda a: a + number, np.ones(3, dtype))
        same(lambda a: number * a, np.ones(3, dtype))
        same(lambda a: a == number, np.ones(3, dtype))


def test_assigned_odd_numbers():
    def assign(number):
        def write(a):
            a[0] = number
            return a

        return write

    for number in (300, -1, 2.7, float("nan"), float("inf"), 2**70, "7", None, True):
        for dtype in ("uint8", "int64", "float32"):
            torch._dynamo.reset()
            with np.errstate(all="ignore"):
                want, refused = outcome(assign(number), [np.zeros(2, dtype)])
                got, error = outcome(torch.compile(assign(number), backend="eager"), [np.zeros(2, dtype)])
            assert type(error) is type(refused) and str(error) == str(refused)
            if refused is None:
                compare(got, want)


def test_arrays_beside_tensors_and_objects():
    class Reversed:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "mine"

    same(lambda a: a + Reversed(), np.ones(3))
    same(lambda a: [a, 1] == [a, 1], np.ones(1))
    same(lambda a: (a.sum() > 1 and a.mean()) or 5, np.ones(3))
    same(lambda a: f"{a.sum():.2f}", np.ones(3))
    same(lambda a: str(a), np.ones(3))
    same(lambda a: sorted(a.tolist()), np.arange(3.0)[::-1].copy())
    same(lambda a: max(a), np.arange(3.0))
    same(lambda a: float(a[1]) + int(a[2]), np.arange(3.0))
    same(lambda a: list(range(int(a.size))), np.arange(3.0))
    same(lambda a: 2.0 in a, np.arange(3.0))
    same(lambda a: a is a.T.T, np.arange(3.0))
    same(lambda a: isinstance(a.sum(), float) and isinstance(a, np.ndarray) and type(a.sum()) is np.float64, np.ones(3))


def test_arrays_die_when_nobody_uses_them():
    torch._dynamo.reset()
    compiled = torch.compile(lambda a: (a[1:], a.sum(), a * 2), fullgraph=True)
    a = np.arange(4.0)
    seen = weakref.ref(a)
    part, total, doubled = compiled(a)
    compiled(a)
    del a
    gc.collect()
    assert seen() is not None and part.tolist() == [1.0, 2.0, 3.0]  # its memory is looked at
    del part
    gc.collect()
    assert seen() is None and total == 6.0 and doubled.tolist() == [0.0, 2.0, 4.0, 6.0]


def test_a_function_of_scalars():
    agree(lambda s, t: (s + t, s * 2, np.sqrt(t), s > t, -s, abs(t)), lambda: [np.float32(2), np.float64(9)])
