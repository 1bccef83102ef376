"""Reductions against NumPy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.oracle import FLOATS, INTEGERS, RELAXED, assert_matches, dtype_of, pairs

# --- reductions ---------------------------------------------------------------------------------------------


@st.composite
def axes(draw, ndim):
    if ndim == 0 or draw(st.booleans()):
        return None
    return tuple(draw(st.lists(st.integers(0, ndim - 1), min_size=1, max_size=ndim, unique=True)))


@given(st.data())
@RELAXED
def test_sum(data):
    array, tensor = data.draw(pairs((*INTEGERS, np.bool_)))
    dim, keep = data.draw(axes(array.ndim)), data.draw(st.booleans())
    expected = np.sum(array, axis=dim, keepdims=keep, dtype=np.int64)
    assert_matches(torch.sum(tensor, dim, keep), expected, torch.int64)
    assert_matches(tensor.sum(dim=dim, keepdim=keep), expected, torch.int64)


@given(st.data())
@RELAXED
def test_float_sum_and_mean(data):
    dtype = data.draw(st.sampled_from(FLOATS))
    array, tensor = data.draw(pairs((dtype,)))
    dim, keep = data.draw(axes(array.ndim)), data.draw(st.booleans())
    with np.errstate(all="ignore"):
        bound = np.sum(np.abs(array), axis=dim, keepdims=keep, dtype=np.longdouble)
        total = np.sum(array, axis=dim, keepdims=keep, dtype=np.longdouble)
    for result in (tensor.sum(dim, keep), torch.sum(tensor, dim, keepdim=keep)):
        assert result.dtype is dtype_of(array) and tuple(result.shape) == np.shape(total)
        representable = np.atleast_1d(bound < np.finfo(dtype).max / 4)
        with np.errstate(invalid="ignore"):
            distance = np.abs(result.numpy().astype(np.longdouble) - total)
        close = np.atleast_1d(distance <= 8 * np.finfo(dtype).eps * bound)
        assert close[representable].all()
        not_finite = ~np.atleast_1d(np.isfinite(bound))
        assert not np.isfinite(np.atleast_1d(result.numpy()))[not_finite].any()
    assert torch.mean(tensor, dim, keepdim=keep).shape == torch.Size(np.shape(total))


@given(st.data())
@RELAXED
def test_prod(data):
    array, tensor = data.draw(pairs((*INTEGERS, np.bool_)))
    with np.errstate(all="ignore"):
        assert_matches(tensor.prod(), np.prod(array, dtype=np.int64), torch.int64)
        if array.ndim:
            dim = data.draw(st.integers(-array.ndim, array.ndim - 1))
            assert_matches(torch.prod(tensor, dim), np.prod(array, axis=dim, dtype=np.int64), torch.int64)


@given(st.data())
@RELAXED
def test_any_and_all(data):
    array, tensor = data.draw(pairs())
    dim, keep = data.draw(axes(array.ndim)), data.draw(st.booleans())
    assert_matches(tensor.any(dim, keep), np.any(array, axis=dim, keepdims=keep), torch.bool)
    assert_matches(tensor.all(dim, keep), np.all(array, axis=dim, keepdims=keep), torch.bool)


EXTREMES = {"max": (np.max, np.argmax), "min": (np.min, np.argmin)}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name):
    extreme, position = EXTREMES[name]

    @given(st.data())
    @RELAXED
    def check(data):
        array, tensor = data.draw(pairs((*FLOATS, *INTEGERS)))
        if array.size == 0:
            with pytest.raises((RuntimeError, IndexError)):
                getattr(tensor, name)()
            return
        assert_matches(getattr(tensor, name)(), extreme(array), dtype_of(array))
        assert_matches(getattr(torch, f"a{name}")(tensor), extreme(array), dtype_of(array))
        assert_matches(getattr(torch, f"arg{name}")(tensor), position(array), torch.int64)
        if not array.ndim:
            return
        dim, keep = data.draw(st.integers(-array.ndim, array.ndim - 1)), data.draw(st.booleans())
        values, indices = getattr(torch, name)(tensor, dim, keep)
        assert_matches(values, extreme(array, axis=dim, keepdims=keep), dtype_of(array))
        assert_matches(indices, position(array, axis=dim, keepdims=keep), torch.int64)
        assert_matches(getattr(tensor, f"a{name}")(dim, keep), extreme(array, axis=dim, keepdims=keep), dtype_of(array))

    check()


def test_named_results():
    result = torch.tensor([[1.0, 3.0], [4.0, 2.0]]).max(1)
    assert type(result) is torch.return_types.max and isinstance(result, tuple)
    assert result.values.tolist() == [3.0, 4.0] and result.indices.tolist() == [1, 0]
    assert repr(result) == "torch.return_types.max(\nvalues=tensor([3., 4.]),\nindices=tensor([1, 0]))"


@given(st.data())
@RELAXED
def test_variance(data):
    array, tensor = data.draw(pairs((np.float64,), shape=data.draw(st.sampled_from([(5,), (3, 4), (2, 3, 2)]))))
    if not np.isfinite(array).all() or np.abs(array).max(initial=0) > 1e100:
        return
    correction = data.draw(st.sampled_from([0, 1]))
    if array.size <= correction:
        return
    scale = np.abs(array).max(initial=0) ** 2 + 1e-300
    np.testing.assert_allclose(
        torch.var(tensor, correction=correction).item() / scale, np.var(array, ddof=correction) / scale, atol=1e-14
    )
    np.testing.assert_allclose(tensor.std().item() ** 2 / scale, np.var(array, ddof=1) / scale, atol=1e-14)


@pytest.mark.parametrize("shape", [(2, 2, 1), (3, 5, 1), (2, 3, 1, 1), (1, 4, 1), (4, 1, 3), (2, 3000, 1)])
def test_axes_of_size_one(shape):
    array = np.arange(math.prod(shape), dtype=np.float64).reshape(shape) % 7
    tensor = torch.from_numpy(array)
    for dim in range(len(shape)):
        assert_matches(tensor.sum(dim), array.sum(dim), torch.float64)
        assert_matches(tensor.amax(dim), array.max(dim), torch.float64)
        assert_matches(tensor.max(dim).values, array.max(dim), torch.float64)
        assert_matches(tensor.argmin(dim), array.argmin(dim), torch.int64)
