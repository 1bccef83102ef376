"""gather's and scatter's kin, masks, unique values, counting and searching, against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import minidynamo as torch

T = torch.tensor
X = [[0.0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def x():
    return T(X)


SCATTER = [
    (lambda: x().scatter(0, T([[0, 1, 2, 0]]), T([[1.0, 2, 3, 4]])), [[1, 1, 2, 4], [4, 2, 6, 7], [8, 9, 3, 11]]),
    (lambda: torch.scatter(x(), 1, T([[3], [0]]), 9), [[0, 1, 2, 9], [9, 5, 6, 7], [8, 9, 10, 11]]),
    (lambda: x().scatter(0, T([[0, 1, 2, 0]]), T([[1.0, 2, 3, 4]]), reduce="add"),
     [[1, 1, 2, 7], [4, 7, 6, 7], [8, 9, 13, 11]]),
    (lambda: x().scatter(0, T([[0, 1, 2, 0]]), 2, reduce="multiply"), [[0, 1, 2, 6], [4, 10, 6, 7], [8, 9, 20, 11]]),
    (lambda: torch.scatter_add(x(), 0, T([[0, 1, 2, 0]]), T([[1.0, 2, 3, 4]])),
     [[1, 1, 2, 7], [4, 7, 6, 7], [8, 9, 13, 11]]),
    (lambda: x().scatter_reduce(0, T([[0, 1, 2, 0]]), T([[1.0, 2, 3, -4]]), "mean"),
     [[0.5, 1, 2, -0.5], [4, 3.5, 6, 7], [8, 9, 6.5, 11]]),
    (lambda: x().scatter_reduce(0, T([[0, 1, 2, 0]]), T([[1.0, 2, 3, -4]]), "amax", include_self=False),
     [[1, 1, 2, -4], [4, 2, 6, 7], [8, 9, 3, 11]]),
    (lambda: x().long().scatter_reduce(0, T([[0] * 4] * 2), T([[1, 2, 3, -4], [1, 2, 3, -8]]), "mean"),
     [[0, 1, 2, -3], [4, 5, 6, 7], [8, 9, 10, 11]]),
    (lambda: x().scatter_reduce(0, T([[0, 0, 0, 0]]), T([[5.0, 0, 3, float("nan")]]), "prod")[0, :3], [0, 0, 6]),
    (lambda: x().gather(1, T([[3], [0]], dtype=torch.int32)), [[3], [4]]),
    (lambda: x().index_select(0, T([2, 0])), [[8, 9, 10, 11], [0, 1, 2, 3]]),
    (lambda: torch.index_select(x().t(), 0, T([1, 1], dtype=torch.int32)), [[1, 5, 9], [1, 5, 9]]),
    (lambda: x().index_add(0, T([0, 0]), torch.ones(2, 4), alpha=2), [[4, 5, 6, 7], [4, 5, 6, 7], [8, 9, 10, 11]]),
    (lambda: x().index_copy(1, T([3]), torch.ones(3, 1)), [[0, 1, 2, 1], [4, 5, 6, 1], [8, 9, 10, 1]]),
    (lambda: torch.index_fill(x(), 0, T([0, -1]), 7), [[7] * 4, [4, 5, 6, 7], [7] * 4]),
    (lambda: x().index_fill(1, T([0]), T(-1)), [[-1, 1, 2, 3], [-1, 5, 6, 7], [-1, 9, 10, 11]]),
    (lambda: x().take(T([[0, -1], [5, 11]])), [[0, 11], [5, 11]]),
    (lambda: torch.put(x(), T([0, 0, -1]), T([7.0, 8, 9]), accumulate=True), [[15, 1, 2, 3], X[1], [8, 9, 10, 20]]),
    (lambda: torch.masked_scatter(x(), x() > 8, torch.arange(5.0)), [X[0], X[1], [8, 0, 1, 2]]),
    (lambda: T([1.0, 2]).masked_scatter(T([[True, False], [True, True]]), torch.arange(9.0)), [[0, 2], [1, 2]]),
    (lambda: torch.masked_select(x(), T([True, False, False, False])), [0, 4, 8]),
    (lambda: T(5.0).masked_select(T(True)), [5]),
    (lambda: x().index_put((T([0, 0]), T([1, 1])), T(2.0), accumulate=True), [[0, 5, 2, 3], X[1], X[2]]),
]  # fmt: skip


@pytest.mark.parametrize("call, expected", SCATTER)
def test_values(call, expected):
    assert call().tolist() == expected


IN_PLACE = [
    ("scatter_", lambda y: y.scatter_(0, T([[2, 2, 2, 2]]), T([X[0]])), [X[0], X[1], X[0]]),
    ("scatter_add_", lambda y: y.scatter_add_(0, T([[0, 0, 0, 0]]), T([X[0]])), [[0, 2, 4, 6], X[1], X[2]]),
    ("scatter_reduce_", lambda y: y.scatter_reduce_(0, T([[1] * 4]), T([X[2]]).float(), "amin"), X),
    ("index_add_", lambda y: y.index_add_(0, T([0]), y[2:]), [[8, 10, 12, 14], X[1], X[2]]),
    ("index_copy_", lambda y: y.index_copy_(0, T([2, 0]), y[:2]), [X[1], X[1], X[0]]),
    ("index_fill_", lambda y: y.index_fill_(0, T([1]), 0), [X[0], [0] * 4, X[2]]),
    ("put_", lambda y: y.put_(T([0]), T([5.0])), [[5, 1, 2, 3], X[1], X[2]]),
    ("masked_scatter_", lambda y: y.masked_scatter_(y > 8, y), [X[0], X[1], [8, 0, 1, 2]]),
    ("index_put_", lambda y: y.index_put_([T([1])], T(0.0)), [X[0], [0] * 4, X[2]]),
]


@pytest.mark.parametrize("name, call, expected", IN_PLACE)
def test_in_place(name, call, expected):
    y = x()
    assert call(y) is y and y.tolist() == expected and hasattr(torch.Tensor, name)
    strided = torch.zeros(3, 8)[:, ::2]
    strided.copy_(x())
    assert call(strided) is strided and strided.tolist() == expected


WRONG = [
    (lambda y: y.scatter_(0, T([[5]]), 1.0), RuntimeError, "index 5 is out of bounds for dimension 0 with size 3"),
    (lambda y: y.scatter_add_(0, T([[0, -1]]), torch.ones(1, 2)), RuntimeError, "index -1 is out of bounds"),
    (lambda y: y.scatter_(0, T([[0]]), T([[1]])), RuntimeError, "self.dtype to be equal to src.dtype"),
    (lambda y: y.scatter_(0, T([0]), 1.0), RuntimeError, "same number of dimensions as self tensor"),
    (lambda y: y.scatter_(0, T([[0] * 5]), 1.0), RuntimeError, "to be no larger than self"),
    (lambda y: y.scatter_reduce_(0, T([[0]]), y, "max"), RuntimeError, "reduce argument must be either"),
    (lambda y: y.index_fill(0, T([0], dtype=torch.int32), 1), IndexError, "Expected dtype int64 for index"),
    (lambda y: y.index_copy_(0, T([0, 1]), T(1.0)), IndexError, "index should have one element"),
    (lambda y: torch.unique(y[0, 0], dim=0), IndexError, "tensor has no dimensions"),
    (lambda y: y[0, 0].repeat_interleave(T([1]), 0), IndexError, "tensor has no dimensions"),
    (lambda y: y.index_select(0, T([3])), IndexError, "index out of range in self"),
    (lambda y: y.index_select(0, T([[0]])), IndexError, "supposed to be a vector"),
    (lambda y: y.index_add_(0, T([0, 9]), torch.ones(2, 4)), RuntimeError, "index 9 is out of bounds"),
    (lambda y: y.index_add_(0, T([0]), torch.ones(2, 4)), RuntimeError, "Number of indices"),
    (lambda y: y.index_add_(0, T([0]), torch.ones(1, 3)), RuntimeError, "source tensor shape must match"),
    (lambda y: y.index_copy_(0, T([0, 9]), torch.ones(2, 4)), IndexError, "index 9 is out of bounds"),
    (lambda y: y.index_fill_(0, T([0, 9]), 1), IndexError, "index 9 is out of bounds"),
    (lambda y: y.put_(T([0, 99]), torch.ones(2)), IndexError, "tried to access index 99 on a tensor of 12 elements"),
    (lambda y: y.take(T([12])), IndexError, "tried to access index 12"),
    (lambda y: y.masked_scatter_(y > 3, T([1.0])), RuntimeError, "Number of elements of source < number of ones"),
    (lambda y: y.masked_select(T([1, 0, 1, 0])), RuntimeError, "expected BoolTensor for mask"),
    (lambda y: torch.bincount(T([1, -1])), RuntimeError, "1-d non-negative integral"),
    (lambda y: torch.bincount(y[0]), NotImplementedError, "not defined for float32"),
    (lambda y: y.repeat_interleave(T([1, 2]), 0), RuntimeError, "repeats must have the same size"),
    (lambda y: y.repeat_interleave(T([1, -2, 1]), 0), RuntimeError, "repeats can not be negative"),
    (lambda y: torch.searchsorted(y, T([1.0])), RuntimeError, "first N-1 dimensions"),
    (lambda y: torch.searchsorted(y[0], y, side="left", right=True), RuntimeError, "can't be set to opposites"),
]


@pytest.mark.parametrize("call, error, text", WRONG)
def test_failures_change_nothing(call, error, text):
    y = x()
    with pytest.raises(error, match=text):
        call(y)
    assert y.tolist() == X


@given(st.lists(st.integers(-3, 3), max_size=12), st.booleans())
@settings(max_examples=100, deadline=None)
def test_unique(values, floats):
    t = T(values, dtype=torch.float32 if floats else torch.int64)
    out, inverse, counts = torch.unique(t, return_inverse=True, return_counts=True)
    want = np.unique(np.array(values), return_inverse=True, return_counts=True)
    for made, expected in zip((out, inverse, counts), want):
        np.testing.assert_array_equal(made.numpy(), expected)
    assert t.unique().tolist() == out.tolist() and t.unique(return_counts=True)[1].tolist() == counts.tolist()
    runs, lengths = torch.unique_consecutive(t, return_counts=True)
    assert torch.repeat_interleave(runs, lengths).tolist() == values
    assert all(a != b for a, b in zip(runs.tolist(), runs.tolist()[1:]))
    assert runs[torch.unique_consecutive(t, return_inverse=True)[1]].tolist() == values


def test_unique_slices():
    rows = T([[1, 2], [0, 5], [1, 2]])
    out, inverse, counts = rows.unique(dim=0, return_inverse=True, return_counts=True)
    assert (out.tolist(), inverse.tolist(), counts.tolist()) == ([[0, 5], [1, 2]], [1, 0, 1], [1, 2])
    assert torch.unique(rows.t(), dim=1).tolist() == [[0, 1], [5, 2]]
    assert torch.unique_consecutive(T([[1, 1], [1, 1], [0, 1]]), dim=0).tolist() == [[1, 1], [0, 1]]
    nan = torch.unique(T([float("nan"), 1.0, float("nan")]), return_counts=True)
    assert str(nan[0].tolist()) == "[1.0, nan, nan]" and nan[1].tolist() == [1, 1, 1]
    assert str(torch.unique(T([-0.0, 0.0])).tolist()) == "[-0.0]" and torch.unique(T(4)).tolist() == [4]
    assert torch.unique(torch.zeros(0)).tolist() == []


@given(st.lists(st.lists(st.integers(0, 2), min_size=3, max_size=3), max_size=4))
@settings(max_examples=60, deadline=None)
def test_nonzero(values):
    t = T(values, dtype=torch.int64).reshape(len(values), 3)
    expected = np.argwhere(t.numpy())
    for made in (torch.nonzero(t), t.nonzero(as_tuple=False), torch.argwhere(t)):
        np.testing.assert_array_equal(made.numpy(), expected)
    for made in (t.nonzero(as_tuple=True), torch.where(t != 0)):
        assert [column.tolist() for column in made] == expected.T.tolist()
    assert t[t.nonzero(as_tuple=True)].tolist() == torch.masked_select(t, t != 0).tolist()


def test_nonzero_of_scalars():
    assert tuple(T(5.0).nonzero().shape) == (1, 0) and tuple(T(0.0).argwhere().shape) == (0, 0)
    assert [c.tolist() for c in T(5.0).nonzero(as_tuple=True)] == [[0]]
    assert torch.nonzero(T(X)).stride() == (1, 11)


@given(st.lists(st.integers(0, 6), max_size=10), st.integers(0, 9))
@settings(max_examples=60, deadline=None)
def test_bincount(values, least):
    t = T(values, dtype=torch.int64)
    assert (
        torch.bincount(t, minlength=least).tolist()
        == np.bincount(np.array(values, dtype=int), minlength=least).tolist()
    )
    if values:
        weights = torch.arange(float(len(values)))
        want = np.bincount(values, weights=np.arange(len(values))).tolist()
        assert t.bincount(weights).tolist() == want and t.bincount(weights).dtype is torch.float32
        assert t.bincount(weights.double()).dtype is torch.float64


@given(
    st.lists(st.floats(-5, 5, width=32), max_size=8), st.lists(st.floats(-5, 5, width=32), max_size=6), st.booleans()
)
@settings(max_examples=80, deadline=None)
def test_searchsorted(row, values, right):
    row = sorted(row)
    want = np.searchsorted(np.array(row, dtype=np.float32), np.array(values, dtype=np.float32),
                           side="right" if right else "left").tolist()  # fmt: skip
    boundaries, t = T(row, dtype=torch.float32), T(values, dtype=torch.float32)
    assert torch.searchsorted(boundaries, t, right=right).tolist() == want
    assert torch.bucketize(t, boundaries, right=right, out_int32=True).dtype is torch.int32
    assert torch.bucketize(t, boundaries, right=right).tolist() == want


def test_searchsorted_by_row():
    assert torch.searchsorted(T([[1.0, 3], [5, 7]]), T([[3.0], [6]])).tolist() == [[1], [1]]
    assert torch.searchsorted(T([5.0, 1, 3]), T([3.0]), sorter=T([1, 2, 0])).tolist() == [1]
    assert torch.searchsorted(T([1.0, 3]), 3).item() == 1 and torch.bucketize(3.5, T([1, 3])).item() == 2
    assert torch.searchsorted(T([1.0, 3]), T(float("nan"))).item() == 2


def test_repeat_interleave():
    assert torch.repeat_interleave(T([1, 0, 2])).tolist() == [0, 2, 2]
    assert torch.repeat_interleave(x(), T([1, 0, 2]), 0).tolist() == [X[0], X[2], X[2]]
    assert x().repeat_interleave(T([2]), 1).shape == (3, 8) and x().repeat_interleave(T(2)).shape == (24,)
    assert torch.repeat_interleave(x(), T([1, 0, 2]), 0, output_size=3).shape == (3, 4)
    with pytest.raises(RuntimeError, match="allocated size does not match required size"):
        torch.repeat_interleave(x(), T([1, 0, 2]), 0, output_size=4)
