"""Softmax and its kin, counts, norms, scans, order statistics against NumPy."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.oracle import FLOATS, INTEGERS, RELAXED, assert_matches, dtype_of, pairs

SHAPES = st.sampled_from([(5,), (3, 4), (2, 3, 2), (1, 6), (4, 1)])


@st.composite
def moderate(draw, dtypes=FLOATS, views=None, nan=False):
    """Never empty; floats of ordinary size, on which the order of a sum hardly shows; ties, perhaps NaN among them."""
    strategy = pairs(dtypes, draw(SHAPES), **({"views": views} if views else {}))
    array, tensor = draw(strategy.filter(lambda both: both[0].size))
    assume(array.size)
    if array.dtype in FLOATS:
        small = np.where(np.abs(array) < 60, array, array.dtype.type(3.5))
        if not nan:
            small = np.nan_to_num(small, nan=1.25)
        array = small.astype(array.dtype)
        tensor = torch.from_numpy(np.array(array))
    return array, tensor


def close(found, expected, steps=16):
    eps = np.finfo(found.numpy().dtype).eps
    np.testing.assert_allclose(found.numpy(), expected, rtol=steps * eps, atol=steps * eps)


def logsumexp(a, axis, keepdims=False):
    top = np.max(a, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(a - top), axis=axis, keepdims=True)) + top
    return total if keepdims else np.squeeze(total, axis=axis)


@pytest.mark.parametrize("compiled", [False, True])
def test_softmax_of_nothing_but_negative_infinity(compiled):
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([[-inf, -inf, -inf], [1.0, -inf, 2.0], [nan, -inf, 0.0], [inf, 1.0, -inf]], requires_grad=True)

    def shares(x):
        return torch._safe_softmax(x, 1)

    y = (torch.compile(shares, fullgraph=True) if compiled else shares)(x)
    assert y[0].tolist() == [0.0, 0.0, 0.0] and y[1].tolist() == x[1].softmax(0).tolist()
    assert y[2:].isnan().all()
    y[:2].backward(torch.tensor([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]))
    other = x[1].detach().requires_grad_()
    other.softmax(0).backward(torch.tensor([1.0, 2.0, 3.0]))
    assert x.grad[0].tolist() == [0.0, 0.0, 0.0] and x.grad[1].tolist() == other.grad.tolist()
    assert torch._safe_softmax(torch.zeros(2, 0), 1).shape == (2, 0)


@given(st.data())
@RELAXED
def test_exponentials(data):
    array, tensor = data.draw(moderate())
    dim = data.draw(st.integers(-array.ndim, array.ndim - 1))
    keep = data.draw(st.booleans())
    wide = array.astype(np.longdouble)
    close(torch.logsumexp(tensor, dim, keep), logsumexp(wide, dim, keep), 64)
    close(tensor.softmax(dim), np.exp(wide - logsumexp(wide, dim, True)), 64)
    close(torch.log_softmax(tensor, dim), wide - logsumexp(wide, dim, True), 256)
    close(torch.nn.functional.softmin(tensor, dim), np.exp(-wide - logsumexp(-wide, dim, True)), 64)


def test_exponentials_at_the_ends():
    inf = float("inf")
    assert torch.logsumexp(torch.tensor([-inf, -inf]), 0).item() == -inf
    assert torch.logsumexp(torch.tensor([inf, 1.0]), 0).item() == inf
    assert torch.logsumexp(torch.zeros(0, 2), 0).tolist() == [-inf, -inf]
    assert torch.softmax(torch.tensor([-inf, 0.0]), 0).tolist() == [0.0, 1.0]
    assert torch.softmax(torch.zeros(2, 0), 1).shape == (2, 0) and torch.softmax(torch.tensor(3.0), 0).item() == 1.0
    assert torch.softmax(torch.tensor([1, 2]), 0, dtype=torch.float64).dtype is torch.float64
    with pytest.raises(RuntimeError):
        torch.softmax(torch.tensor([1, 2]), 0)
    with pytest.raises(IndexError):
        torch.softmax(torch.ones(2), 1)


@given(st.data())
@RELAXED
def test_counts_and_sums(data):
    array, tensor = data.draw(pairs())
    dim = data.draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1))) if array.ndim else None
    assert_matches(torch.count_nonzero(tensor, dim), np.count_nonzero(array, axis=dim), torch.int64)
    array, tensor = data.draw(moderate(nan=True))
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    close(torch.nansum(tensor, axis), np.nansum(array, axis=axis), 64)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        close(torch.nanmean(tensor, axis, True), np.nanmean(array, axis=axis, keepdims=True), 64)


@given(st.data())
@RELAXED
def test_moments_and_extremes(data):
    array, tensor = data.draw(moderate())
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    wide = array.astype(np.float64)
    if array.shape[axis] > 1:
        scale = 1e3 * np.finfo(array.dtype).eps * (1 + np.abs(wide).max() ** 2)
        var, mean = torch.var_mean(tensor, axis)
        np.testing.assert_allclose(var.numpy(), wide.var(axis, ddof=1), atol=scale)
        np.testing.assert_allclose(mean.numpy(), wide.mean(axis), atol=scale)
        std, mean = torch.std_mean(tensor, axis, unbiased=False, keepdim=True)
        np.testing.assert_allclose(std.numpy() ** 2, wide.var(axis, keepdims=True), atol=scale)
        assert isinstance(torch.var_mean(tensor), tuple) and len(torch.std_mean(tensor, False)) == 2
    low, high = torch.aminmax(tensor, dim=axis)
    assert_matches(low, array.min(axis), dtype_of(array))
    assert_matches(high, array.max(axis), dtype_of(array))
    both = tensor.aminmax()
    assert (
        type(both) is torch.return_types.aminmax and both.min.item() == array.min() and both.max.item() == array.max()
    )


@given(st.data())
@RELAXED
def test_norms(data):
    array, tensor = data.draw(moderate())
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    wide = array.astype(np.float64)
    order = data.draw(st.sampled_from([2, 1, 0, 3, 0.5, float("inf"), float("-inf")]))
    expected = np.linalg.norm(wide, order, axis)
    close(torch.linalg.vector_norm(tensor, order, axis), expected, 256)
    close(tensor.norm(order, axis, keepdim=True), np.expand_dims(expected, axis), 256)
    close(torch.norm(tensor), np.sqrt((wide**2).sum()), 64)
    close(torch.dist(tensor, tensor * 0.5, order), np.linalg.norm((wide - wide * 0.5).reshape(-1), order), 256)
    if array.ndim == 2:
        for ord in (None, "fro", 1, -1, float("inf"), float("-inf")):
            close(torch.linalg.norm(tensor, ord), np.linalg.norm(wide, ord), 64)
        close(torch.linalg.norm(tensor, 1, (1, 0)), np.linalg.norm(wide, 1, (1, 0)), 64)


def test_folds_of_nothing():
    """Answers of torch for tensors without elements, where there is no value to fall back on."""
    x, inf = torch.zeros(0, 6), float("inf")
    for order in (2, 1, 0, 3, 0.5):
        assert torch.linalg.vector_norm(x, order, 0).tolist() == [0.0] * 6
    for order in (inf, -inf, -2):
        for call in (lambda o: torch.linalg.vector_norm(x, o, 0), lambda o: x.norm(o), lambda o: torch.dist(x, x, o)):
            with pytest.raises(RuntimeError):
                call(order)
        assert torch.linalg.vector_norm(x, order, 1).shape == (0,)
    for order in (1, inf, -1, "fro", None):
        assert torch.linalg.norm(x, order).item() == 0
    assert torch.linalg.norm(x, inf, keepdim=True).shape == (1, 1)
    for call in (
        lambda: x.median(0),
        lambda: torch.nanmedian(x, 0),
        lambda: torch.aminmax(x, dim=0),
        lambda: torch.linalg.norm(x, -inf),
    ):
        with pytest.raises(IndexError):
            call()
    assert x.median(1).values.shape == torch.aminmax(x, dim=1).min.shape == (0,)
    assert math.isnan(x.median().item()) and x.int().median().item() == -(2**31) and x.char().median().item() == 0
    assert torch.cdist(torch.zeros(2, 0), torch.zeros(3, 0), inf).tolist() == [[0.0] * 3] * 2


def test_norms_that_are_not_there():
    x = torch.ones(3, 3)
    with pytest.raises(NotImplementedError):
        torch.norm(x, "nuc")
    with pytest.raises(RuntimeError):
        torch.linalg.vector_norm(torch.ones(2, dtype=torch.int64))


def test_distances_and_products():
    a, b = np.arange(12.0).reshape(4, 3) % 5, np.arange(6.0).reshape(2, 3) * 0.5
    for p in (0.0, 1.0, 2.0, 3.0, float("inf")):
        expected = np.array([[np.linalg.norm(r - s, p) for s in b] for r in a])
        np.testing.assert_allclose(
            torch.cdist(torch.from_numpy(a), torch.from_numpy(b), p).numpy(), expected, atol=1e-14
        )
    np.testing.assert_allclose(
        torch.cross(torch.from_numpy(a), torch.from_numpy(a * 2 + 1), 1).numpy(), np.cross(a, a * 2 + 1)
    )
    np.testing.assert_allclose(
        torch.linalg.cross(torch.from_numpy(b), torch.from_numpy(b + 1)).numpy(), np.cross(b, b + 1)
    )
    with pytest.raises(RuntimeError):
        torch.cross(torch.ones(2), torch.ones(2))


@given(st.data())
@RELAXED
def test_differences(data):
    array, tensor = data.draw(moderate((*FLOATS, *INTEGERS)))
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    n = data.draw(st.integers(0, 3))
    with np.errstate(all="ignore"):
        assert_matches(torch.diff(tensor, n, axis), np.diff(array, n, axis), dtype_of(array))
        assert_matches(tensor.diff(dim=axis, append=tensor), np.diff(array, axis=axis, append=array), dtype_of(array))
    if array.dtype in FLOATS:
        close(
            torch.trapezoid(tensor, dx=0.5, dim=axis), np.trapezoid(array.astype(np.float64), dx=0.5, axis=axis), 2048
        )
        points = np.linspace(0, 1, array.shape[axis]).astype(array.dtype)
        expected = np.trapezoid(array.astype(np.float64), points.astype(np.float64), axis=axis)
        close(torch.trapz(tensor, torch.from_numpy(points), dim=axis), expected, 2048)


# --- scans --------------------------------------------------------------------------------------------------


@given(st.data())
@RELAXED
def test_running_sums(data):
    array, tensor = data.draw(pairs((*INTEGERS, np.bool_)))
    if array.ndim:
        axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
        with np.errstate(all="ignore"):
            assert_matches(tensor.cumsum(axis), np.cumsum(array, axis=axis, dtype=np.int64), torch.int64)
            assert_matches(torch.cumprod(tensor, axis), np.cumprod(array, axis=axis, dtype=np.int64), torch.int64)
    array, tensor = data.draw(moderate())
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    wide = array.astype(np.float64)
    assert_matches(tensor.cumsum(axis), np.cumsum(wide, axis), dtype_of(array))
    assert_matches(torch.cumprod(tensor, dim=axis), np.cumprod(wide, axis), dtype_of(array))
    close(torch.logcumsumexp(tensor, axis), np.logaddexp.accumulate(wide, axis), 64)


@given(st.data())
@RELAXED
def test_running_extremes(data):
    array, tensor = data.draw(moderate((*FLOATS, *INTEGERS), nan=True))
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    for name, accumulate in (("cummax", np.maximum), ("cummin", np.minimum)):
        values, indices = getattr(torch, name)(tensor, axis)
        assert_matches(values, accumulate.accumulate(array, axis), dtype_of(array))
        assert_matches(torch.gather(tensor, axis, indices), values.numpy(), dtype_of(array))
        assert (np.diff(indices.numpy(), axis=axis) >= 0).all()
    assert torch.cummax(torch.tensor([1.0, 3.0, 3.0, 2.0]), 0).indices.tolist() == [0, 1, 2, 2]


# --- order --------------------------------------------------------------------------------------------------


@given(st.data())
@RELAXED
def test_sorting(data):
    array, tensor = data.draw(moderate((*FLOATS, *INTEGERS, np.bool_), nan=True))
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    order = np.argsort(array, axis=axis, kind="stable")
    values, indices = tensor.sort(axis)
    assert_matches(values, np.sort(array, axis=axis), dtype_of(array))
    assert_matches(indices, order, torch.int64)
    assert_matches(torch.argsort(tensor, axis), order, torch.int64)
    assert_matches(torch.msort(tensor), np.sort(array, axis=0), dtype_of(array))
    down = torch.sort(tensor, dim=axis, descending=True)
    assert_matches(down.values, np.flip(np.sort(array, axis=axis), axis), dtype_of(array))
    assert_matches(torch.take_along_dim(tensor, down.indices, axis), down.values.numpy(), dtype_of(array))
    k = data.draw(st.integers(1, array.shape[axis]))
    if array.dtype == np.bool_:
        for call in (torch.topk, torch.kthvalue):
            with pytest.raises(RuntimeError):
                call(tensor, k, axis)
        return
    top = torch.topk(tensor, k, axis)
    assert_matches(top.values, down.values.narrow(axis, 0, k).numpy(), dtype_of(array))
    kth = torch.kthvalue(tensor, k, axis)
    assert_matches(kth.values, np.take(np.sort(array, axis=axis), k - 1, axis), dtype_of(array))


@given(st.data())
@RELAXED
def test_medians(data):
    array, tensor = data.draw(moderate((*FLOATS, *INTEGERS), nan=True))
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))

    def median(a, axis, skip_nan):
        def one(line):
            line = np.sort(line)
            if line.dtype in FLOATS and np.isnan(line).any():
                if not skip_nan or np.isnan(line).all():
                    return line.dtype.type("nan")
                line = line[~np.isnan(line)]
            return line[(len(line) - 1) // 2]

        return np.apply_along_axis(one, axis, a)

    for name, skip_nan in (("median", False), ("nanmedian", True)):
        values, indices = getattr(torch, name)(tensor, axis, True)
        assert_matches(values.squeeze(axis), median(array, axis, skip_nan), dtype_of(array))
        assert_matches(torch.gather(tensor, axis, indices), values.numpy(), dtype_of(array))
        assert_matches(getattr(tensor, name)(), median(array.reshape(-1), 0, skip_nan), dtype_of(array))


@given(st.data())
@RELAXED
def test_quantiles(data):
    array, tensor = data.draw(moderate((np.float64,), nan=data.draw(st.booleans())))
    axis = data.draw(st.one_of(st.none(), st.integers(-array.ndim, array.ndim - 1)))
    q = data.draw(st.sampled_from([0.0, 0.25, 0.5, 0.7, 1.0, [0.1, 0.5, 0.9]]))
    keep = data.draw(st.booleans())
    mode = data.draw(st.sampled_from(["linear", "lower", "higher", "midpoint", "nearest"]))
    given_q = torch.tensor(q, dtype=torch.float64) if isinstance(q, list) else q
    if not np.isfinite(array[~np.isnan(array)]).all():
        return
    for name, reference in (("quantile", np.quantile), ("nanquantile", np.nanquantile)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = reference(array, q, axis=axis, keepdims=keep, method=mode)
        found = getattr(torch, name)(tensor, given_q, axis, keep, interpolation=mode)
        assert tuple(found.shape) == np.shape(expected)
        np.testing.assert_allclose(found.numpy(), expected, atol=1e-12)


def test_quantile_refusals():
    x = torch.ones(3)
    for call in (
        lambda: torch.quantile(x, 1.5),
        lambda: torch.quantile(x, 0.5, interpolation="cubic"),
        lambda: torch.quantile(torch.zeros(0), 0.5),
        lambda: torch.quantile(torch.tensor([1, 2]), 0.5),
        lambda: torch.quantile(x, torch.tensor([0.5], dtype=torch.float64)),
        lambda: torch.quantile(x, torch.tensor([2.0])),
    ):
        with pytest.raises(RuntimeError):
            call()


# --- counting, gathering ---------------------------------------------------------------------------------------


def test_histograms():
    values = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.0, float("nan")])
    x = torch.from_numpy(values)
    assert torch.histc(x, 4, 0, 2).tolist() == np.histogram(values[:-1], 4, (0, 2))[0].tolist()
    assert torch.histc(x[:-1], bins=5).tolist() == np.histogram(values[:-1], 5)[0].tolist()
    assert torch.histc(torch.full((3,), 2.0), 2).tolist() == [0.0, 3.0]
    for call in (lambda: torch.histc(x), lambda: torch.histc(x, 0), lambda: torch.histc(x, 2, 3, 1)):
        with pytest.raises(RuntimeError):
            call()


def test_one_hot():
    k = torch.tensor([[0, 2], [1, 1]])
    one_hot = torch.nn.functional.one_hot
    assert one_hot(k).tolist() == one_hot(k, 3).tolist() == np.eye(3, dtype=np.int64)[k.numpy()].tolist()
    assert one_hot(k, 5).shape == (2, 2, 5) and one_hot(k).dtype is torch.int64
    for call in (lambda: one_hot(k, 2), lambda: one_hot(k - 1), lambda: one_hot(k.float(), 3), lambda: one_hot(k[:0])):
        with pytest.raises(RuntimeError):
            call()


@given(st.data())
@RELAXED
def test_gather(data):
    array, tensor = data.draw(moderate((*FLOATS, *INTEGERS, np.bool_)))
    axis = data.draw(st.integers(-array.ndim, array.ndim - 1))
    length = data.draw(st.integers(0, 5))
    sizes = list(array.shape)
    sizes[axis] = length
    index = data.draw(
        st.lists(st.integers(0, array.shape[axis] - 1), min_size=int(np.prod(sizes)), max_size=int(np.prod(sizes)))
    )
    index = np.array(index, dtype=np.int64).reshape(sizes)
    expected = np.take_along_axis(array, index, axis)
    assert_matches(torch.gather(tensor, axis, torch.from_numpy(index)), expected, dtype_of(array))
    assert_matches(torch.take_along_dim(tensor, torch.from_numpy(index), axis), expected, dtype_of(array))


def test_gather_refusals():
    x = torch.ones(2, 3)
    for index in (
        torch.tensor([[3]]),
        torch.tensor([[-1]]),
        torch.tensor([0]),
        torch.tensor([[0.0]]),
        torch.zeros(3, 1).long(),
    ):
        with pytest.raises(RuntimeError):
            torch.gather(x, 1, index)
    compiled = torch.compile(lambda x, i: torch.gather(x * 2, 1, i) + 1)
    assert compiled(x, torch.tensor([[2, 0]])).tolist() == [[3.0, 3.0]]
    with pytest.raises(RuntimeError, match="out of bounds"):
        compiled(x, torch.tensor([[2, 3]]))
