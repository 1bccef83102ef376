"""How results of NumPy's functions lie in memory: the order of axes that NumPy takes from its operands, what is a view
and what a copy, and which `out=` is refused."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import codes
from minidynamo._dynamo import config

pytestmark = pytest.mark.usefixtures("no_defects", "uncounted")


@pytest.fixture
def uncounted():
    torch._dynamo.utils.counters.clear()


def counted(*shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


ARRAYS = {
    "C": lambda: counted(2, 3),
    "F": lambda: counted(3, 2).T,
    "backward": lambda: counted(2, 3)[::-1],
    "columns_backward": lambda: counted(2, 3)[:, ::-1],
    "every_other": lambda: counted(2, 6)[:, ::2],
    "rows_repeated": lambda: np.broadcast_to(np.arange(3.0), (2, 3)),
    "columns_repeated": lambda: np.broadcast_to(np.arange(2.0)[:, None], (2, 3)),
    "vector": lambda: np.arange(3.0),
    "vector_backward": lambda: np.arange(3.0)[::-1],
    "middle_first": lambda: counted(2, 3, 4).transpose(1, 0, 2),
    "last_first": lambda: counted(2, 3, 4).transpose(2, 0, 1),
}
BACKWARD = {"backward", "columns_backward", "vector_backward"}  # no tensor has such strides

FUNCTIONS = {
    "add": lambda a: a + 1,
    "compare": lambda a: a > 1,
    "copy_method": lambda a: a.copy(),
    "copy_method_K": lambda a: a.copy("K"),
    "copy": np.copy,
    "astype": lambda a: a.astype(np.float32) if a.strides[0] else a,
    "zeros_like": np.zeros_like,
    "zeros_like_C": lambda a: np.zeros_like(a, order="C"),
    "full_like": lambda a: np.full_like(a, 3),
    "full_like_other_sizes": lambda a: np.full_like(a, 3, shape=a.shape[::-1]),
    "stack": lambda a: np.stack([a, a]),
    "stack_last": lambda a: np.stack([a, a], -1),
    "stack_of_two_orders": lambda a: np.stack([a, np.ascontiguousarray(a)], 1),
    "concatenate": lambda a: np.concatenate([a, a]),
    "concatenate_last": lambda a: np.concatenate([a, a, a], -1),
    "vstack": lambda a: np.vstack([a, a]),
    "hstack": lambda a: np.hstack([a, a]),
    "ravel": lambda a: a.ravel(),
    "reshape": lambda a: a.reshape(-1),
    "roll": lambda a: np.roll(a, 1, -1),
    "roll_two": lambda a: np.roll(a, (1, 1), (0, -1)),
    "flip": lambda a: np.flip(a) * 2,
    "sort": np.sort,
    "take": lambda a: np.take(a, [0, 0], -1),
    "squeeze": lambda a: np.expand_dims(a, 0).squeeze(0),
    "where": lambda a: np.where(a > 1, a, 0),
    "swapped": lambda a: np.swapaxes(a, 0, -1) + 0,
}


def strides(a):
    """Of axes with more than one element: where one alone lies says nothing."""
    return [s for s, n in zip(a.strides, a.shape) if n > 1]


@pytest.mark.parametrize("array", ARRAYS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_axes_lie_in_numpys_order(function, array):
    f, given = FUNCTIONS[function], ARRAYS[array]()
    made, expected = torch.compile(lambda a: f(a))(given), f(given)
    assert (made.shape, made.dtype, strides(made)) == (expected.shape, expected.dtype, strides(expected))
    assert np.array_equal(made, expected) and np.shares_memory(made, given) == np.shares_memory(expected, given)
    assert codes() == ({"GB0185"} if array in BACKWARD else set())


@pytest.mark.parametrize("array", ["C", "F", "every_other", "middle_first"])
def test_what_ravel_gives_is_a_copy_where_numpy_copies(array):
    def f(a):
        a.ravel()[1] = -5
        a.reshape(-1)[2] = -7
        return a

    assert np.array_equal(torch.compile(f, fullgraph=True)(ARRAYS[array]()), f(ARRAYS[array]()))


OUTS = {
    "sum": lambda a, out: np.sum(a, axis=0, out=out),
    "max": lambda a, out: a.max(axis=0, out=out),
    "mean": lambda a, out: np.mean(a, axis=0, out=out),
    "cumsum": lambda a, out: np.cumsum(a, axis=0, out=out),
    "stack": lambda a, out: np.stack([a[0], a[1]], out=out),
    "concatenate": lambda a, out: np.concatenate([a[0], a[1]], out=out),
    "matmul": lambda a, out: np.matmul(a, a.T, out=out),
    "take": lambda a, out: np.take(a, [0], 0, out=out),
    "add": lambda a, out: np.add(a[0], 1, out=out),
}
SHAPES = [(3,), (2, 3), (2, 2), (6,), (1, 3), (4, 2, 3), (2,), ()]


@pytest.mark.parametrize("function", OUTS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_out_of_any_shape(function, shape):
    def outcome(f):
        out = np.full(shape, 9.0)
        try:
            gave = f(counted(2, 3), out)
        except Exception as error:  # noqa: BLE001  whatever is raised is compared
            return type(error), out.tolist()
        return gave is out, out.tolist()

    expected = outcome(OUTS[function])
    with config.patch(force_replace=True):
        assert outcome(torch.compile(lambda a, out: OUTS[function](a, out))) == expected
    assert codes() == (set() if expected[0] is True else {"GB0007"})  # what NumPy raises, it raises itself
