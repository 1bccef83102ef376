"""NumPy as the numeric oracle: arrays of every kind, the same views on both sides, comparison in ulps."""

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import minidynamo as torch

FLOATS = (np.float32, np.float64)
INTEGERS = (np.int32, np.int64)
DTYPES = (*FLOATS, *INTEGERS, np.bool_)
TO_TORCH = {
    np.dtype(np.float32): torch.float32,
    np.dtype(np.float64): torch.float64,
    np.dtype(np.int32): torch.int32,
    np.dtype(np.int64): torch.int64,
    np.dtype(np.bool_): torch.bool,
}
TO_NUMPY = {t: d for d, t in TO_TORCH.items()}

# Small, huge and special values meet often; everything else is random.
_SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-40, 3e38, float("inf"), -float("inf"), float("nan"))


def elements(dtype):
    if dtype in FLOATS:
        width = np.dtype(dtype).itemsize * 8
        special = st.sampled_from([float(np.dtype(dtype).type(v)) for v in _SPECIAL])
        return st.one_of(special, st.floats(-50, 50, width=width), st.floats(width=width))
    if dtype is np.bool_:
        return st.booleans()
    limits = np.iinfo(dtype)
    return st.one_of(st.integers(-9, 9), st.sampled_from([limits.min, limits.max]), st.integers(limits.min, limits.max))


def shapes(max_dims=3, max_side=4, min_side=0):
    return npst.array_shapes(min_dims=0, max_dims=max_dims, min_side=min_side, max_side=max_side)


def _same(x):
    return x


def _reversed_axes(x):
    return x.transpose() if isinstance(x, np.ndarray) else x.permute(tuple(range(x.ndim - 1, -1, -1)))


def _every_second(x):
    return x[..., ::2] if x.ndim else x


def _inner(x):
    return x[1:] if x.ndim else x


def _repeated(x):
    return np.broadcast_to(x, (2, *x.shape)) if isinstance(x, np.ndarray) else x.expand(2, *x.shape)


def _flipped_storage(x):
    """The same sizes over column-major memory."""
    if isinstance(x, np.ndarray):
        return np.array(x, order="F")
    return _reversed_axes(_reversed_axes(x).contiguous())


VIEWS = (_same, _same, _reversed_axes, _every_second, _inner, _repeated)


@st.composite
def pairs(draw, dtypes=DTYPES, shape=None, views=VIEWS):
    """An array and a tensor of the same values, dtype and (often unusual) strides."""
    dtype = draw(st.sampled_from(dtypes))
    array = draw(npst.arrays(dtype, shapes() if shape is None else shape, elements=elements(dtype)))
    view = draw(st.sampled_from(views))
    tensor = torch.tensor(array.tolist(), dtype=TO_TORCH[array.dtype]).reshape(array.shape)
    return view(array), view(tensor)


@st.composite
def broadcasting(draw, dtypes=DTYPES):
    """Two pairs whose shapes broadcast."""
    both = draw(npst.mutually_broadcastable_shapes(num_shapes=2, min_side=0, max_dims=3, max_side=4))
    return tuple(draw(pairs(dtypes, shape, (_same, _flipped_storage))) for shape in both.input_shapes)


def ulps(a, b):
    """Distance of two float arrays of one dtype in representable values; equal infinities and any NaNs are 0 apart."""
    bits = np.int32 if a.dtype == np.float32 else np.int64
    ia, ib = a.view(bits).astype(object), b.view(bits).astype(object)
    lowest = -(2 ** (a.dtype.itemsize * 8 - 1))
    ordered = [np.where(i < 0, lowest - i, i) for i in (ia, ib)]
    distance = np.abs(ordered[0] - ordered[1])
    return np.where(np.isnan(a) & np.isnan(b), 0, distance)


def assert_matches(tensor, expected, dtype, tolerance=0):
    """`tensor` has the dtype and sizes, and values within `tolerance` units in the last place of `expected`."""
    expected = np.asarray(expected)
    assert tensor.dtype is dtype
    assert tuple(tensor.shape) == expected.shape
    actual = tensor.numpy()
    with np.errstate(all="ignore"):
        expected = expected.astype(TO_NUMPY[dtype])
    if not dtype.is_floating_point or not tolerance:
        np.testing.assert_array_equal(actual, expected)
        return
    distance = ulps(np.atleast_1d(np.ascontiguousarray(actual)), np.atleast_1d(np.ascontiguousarray(expected)))
    worst = max(distance.flatten().tolist(), default=0)
    assert worst <= tolerance, f"{worst} units in the last place apart: {actual} and {expected}"


RELAXED = settings(deadline=None, max_examples=60)


def dtype_of(array):
    return TO_TORCH[array.dtype]


def float_dtype(array):
    """Where the result is a float whatever the operand: integers and bool compute in the default dtype."""
    return dtype_of(array) if array.dtype in FLOATS else torch.float32


def wide(array):
    """The array as the op sees it, in a type whose rounding does not show."""
    return array.astype(np.float64 if float_dtype(array) is torch.float32 else np.longdouble)


def numpy_dtype(dtype):
    return np.dtype(str(dtype).removeprefix("torch."))


def promoted(a, b):
    """torch.result_type for two arrays: 0-d operands give way within and to higher categories."""

    def category(x):
        return 2 if x.dtype in FLOATS else 1 if x.dtype in INTEGERS else 0

    if (a.ndim == 0) != (b.ndim == 0):
        full, scalar = (b, a) if a.ndim == 0 else (a, b)
        if category(scalar) <= category(full):
            return dtype_of(full)
        return dtype_of(scalar)
    # NumPy has no int64 + float32 -> float32.
    if category(a) != category(b):
        return dtype_of(max(a, b, key=category))
    return dtype_of(max(a, b, key=lambda x: x.dtype.itemsize))


def in_dtype(dtype, *arrays):
    with np.errstate(over="ignore"):
        return tuple(x.astype(numpy_dtype(dtype)) for x in arrays)
