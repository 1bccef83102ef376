"""How what NumPy's functions give lies in memory: every order of three axes of operands; strides, values, aliasing."""

import itertools

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import codes
from minidynamo._dynamo import config
from minidynamo._dynamo.testing import CompileCounter

pytestmark = pytest.mark.usefixtures("no_defects")
SHAPE = (2, 3, 4)
ORDERS = list(itertools.permutations(range(3)))
PAIR, J, T = [0, 1], np.array([[0, 1, 1], [1, 0, 0]]), np.array([[0, 1], [1, 1], [0, 1]]).T


def laid(order, seed=0):
    """An array of SHAPE, its axes in memory in this order."""
    values = np.random.default_rng(seed).normal(size=[SHAPE[d] for d in order]).round(2)
    return values.transpose([order.index(d) for d in range(3)])


OF_ONE = {
    "full_like_row": lambda x: np.full_like(x, np.arange(4.0)),
    "full_like_array": lambda x: np.full_like(x, np.arange(24.0).reshape(SHAPE)),
    "full_like_C": lambda x: np.full_like(x, x[0], order="C"),
    "full_like_shape": lambda x: np.full_like(x, np.arange(2), shape=(4, 3, 2)),
    "full": lambda x: np.full((2, 2, 3, 4), x),
    "roll_twice": lambda x: np.roll(x, (1, 1), (1, -2)),
    "roll_axes": lambda x: np.roll(x, 1, (0, 2)),
    "tile_once": lambda x: np.tile(x, 1),
    "copy_C": lambda x: np.copy(x, order="C"),
    "copy_K": lambda x: np.copy(x),
    "astype_C": lambda x: x.astype("f4", order="C"),
    "astype_same_C": lambda x: x.astype("f8", order="C"),
    "astype_no_copy": lambda x: x.astype("f8", order="C", copy=False),
    "astype_gaps": lambda x: x[..., ::2].astype("f4"),
    "array_C": lambda x: np.array(x, order="C"),
    "asarray_C": lambda x: np.asarray(x, order="C"),
    "add_C": lambda x: x + np.ones(SHAPE),
    "add_row": lambda x: x + np.ones((4, 3)).T,
    "add_spread": lambda x: np.broadcast_to(x[:, :1], SHAPE) + 1,
    "where": lambda x: np.where(np.ones(SHAPE, bool), x, 0),
    "round": lambda x: np.round(x, 1),
    "argsort": lambda x: np.argsort(x, 0),
    "argmax": lambda x: np.argmax(x, 1),
    "tril": np.tril,
    "triu": np.triu,
    **{f"sum_{d}": lambda x, d=d: x.sum(d) for d in range(3)},
    **{name: lambda x, name=name: getattr(np, name)(x, axis=1) for name in "prod max mean std any ptp nansum".split()},
    "sum_keepdims": lambda x: x.sum(1, keepdims=True),
    "sum_into_ravel": lambda x: (s := x.sum(1), s.ravel().fill(7))[0],
    "cumsum": lambda x: np.cumsum(x, 1),
    "average": lambda x: np.average(x, 1, weights=np.arange(1.0, 4)),
    "count_nonzero": lambda x: np.count_nonzero(x, 1),
    "norm": lambda x: np.linalg.norm(x, 1, axis=1),
    "kron": lambda x: np.kron(x, x),
    "einsum": lambda x: np.einsum("ijk,lk->ijl", x, np.ones((3, 4))),
    "einsum_sum": lambda x: np.einsum("i...k->...k", x),
    "index_0": lambda x: x[PAIR],
    "index_1": lambda x: x[:, PAIR],
    "index_2": lambda x: x[..., J],
    "index_apart": lambda x: x[1, :, PAIR],
    "index_ellipsis": lambda x: x[:, PAIR, ..., PAIR],
    "index_T": lambda x: x[T, :, J],
    "index_all": lambda x: x[T, T, T],
    "index_new": lambda x: x[None, :, PAIR, ::2],
    "take_along": lambda x: np.take_along_axis(x, (x > 0).astype(int), 1),
}
OF_TWO = {
    "add": np.add,
    "compare": lambda a, b: a > b,
    "where": lambda a, b: np.where(a > 0, a, b),
    "clip": lambda a, b: np.clip(a, b, b + 1),
    "floor_divide": lambda a, b: a.astype(int) // (1 + abs(b).astype(int)),
    "lower_rank": lambda a, b: a + b[0],
    "columns": lambda a, b: a[:, :1] + b[:1],
    "isclose": np.isclose,
    "average": lambda a, b: np.average(a, 1, weights=np.abs(b)),
    "einsum": lambda a, b: np.einsum("ijk,ijk->kij", a, b),
    "full_like": np.full_like,
    "take_along": lambda a, b: np.take_along_axis(a, (b > 0).astype(int), 1),
}


def strides(a):
    return [s for s, n in zip(a.strides, a.shape) if n > 1]


def check(f, *given):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with config.patch(force_replace=True):
        made = torch.compile(lambda *given: f(*given), backend="eager")(*given)
    expected = f(*given)
    assert (made.shape, made.dtype, strides(made)) == (expected.shape, expected.dtype, strides(expected))
    np.testing.assert_allclose(made, expected)
    for a in given:
        assert np.shares_memory(made, a) == np.shares_memory(expected, a)
    assert codes() == set()


@pytest.mark.parametrize("name", OF_ONE)
def test_of_one_operand(name):
    for order in ORDERS:
        check(OF_ONE[name], laid(order))


@pytest.mark.parametrize("name", OF_TWO)
def test_of_two_operands(name):
    for a, b in itertools.product(ORDERS, ORDERS):
        check(OF_TWO[name], laid(a), laid(b, 1))


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.copy(x, order="A"),
        lambda x: x.astype("f4", order="F"),
        lambda x: np.array(x, order="A"),
        lambda x: x[::-1, PAIR],
        lambda x: np.roll(x, 1, 3),
    ],
)
def test_what_is_left_to_numpy(f):
    def outcome(function):
        try:
            made = function(laid((2, 0, 1)))
        except ValueError as error:
            return type(error), str(error)
        return made.tolist(), strides(made)

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    with config.patch(force_replace=True):
        assert outcome(torch.compile(lambda x: f(x), backend="eager")) == outcome(f)
    assert codes() == {"GB0007"}


@pytest.mark.parametrize(
    "f, orders, ops",
    [
        (lambda a, b: a + b, ORDERS, 1),
        (lambda a, b: (a * b).sum(1), [(0, 1, 2), (1, 0, 2)], 2),
        (lambda a, b: a.max(0) + b[0], [(0, 1, 2)], 3),
    ],
)
def test_nothing_is_added_where_operands_agree(f, orders, ops):
    for order in orders:
        torch._dynamo.reset()
        counter = CompileCounter()
        torch.compile(f, backend=counter)(laid(order), laid(order, 1))
        assert (counter.frame_count, counter.op_count) == (1, ops)


@pytest.mark.parametrize(
    "f",
    [
        lambda a: np.ones(2) + a[:2],
        lambda a: np.where(a > 1, np.arange(3), a),
        np.zeros_like,
        lambda a: a[np.array([0, 1])],
        lambda a: np.add(a, 1, out=np.empty(3)),
    ],
)
def test_the_default_device_is_not_for_arrays(f):
    torch._dynamo.reset()
    compiled = torch.compile(lambda a: f(a))
    with torch.device("meta"):
        made = compiled(np.arange(3.0))
    assert np.array_equal(made, f(np.arange(3.0)))
