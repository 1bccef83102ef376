"""Pointwise ops against NumPy: dtypes by torch's rules, values, broadcasting, NaN, infinities, empty, 0-d, strided."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.oracle import (
    FLOATS,
    INTEGERS,
    RELAXED,
    assert_matches,
    broadcasting,
    dtype_of,
    float_dtype,
    in_dtype,
    pairs,
    promoted,
    wide,
)

pytestmark = pytest.mark.version_free  # values, which no Python takes part in computing

# --- one operand, float result ------------------------------------------------------------------------


def _erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x.astype(np.float64)) if x.size else x


def _sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def _erfc(x):
    return np.vectorize(math.erfc, otypes=[np.float64])(x.astype(np.float64)) if x.size else x


# name: (NumPy's, ulps, largest |x| for which NumPy's own answer in float64 can be trusted)
FLOAT_UNARY = {
    "exp": (np.exp, 2),
    "exp2": (np.exp2, 2),
    "expm1": (np.expm1, 2),
    "log": (np.log, 2),
    "log2": (np.log2, 2),
    "log10": (np.log10, 2),
    "log1p": (np.log1p, 2),
    "sqrt": (np.sqrt, 0),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 2),
    "sin": (np.sin, 2),
    "cos": (np.cos, 2),
    "tan": (np.tan, 2),
    "tanh": (np.tanh, 2),
    "sigmoid": (_sigmoid, 2),
    "erf": (_erf, 2),
    "erfc": (_erfc, 2),
    "asin": (np.arcsin, 2),
    "acos": (np.arccos, 2),
    "atan": (np.arctan, 2),
    "sinh": (np.sinh, 2),
    "cosh": (np.cosh, 2),
    "asinh": (np.arcsinh, 2),
    "acosh": (np.arccosh, 2),
    "atanh": (np.arctanh, 2),
    "reciprocal": (lambda x: 1 / x, 1),
}


@pytest.mark.parametrize("name", FLOAT_UNARY)
def test_float_functions(name):
    reference, tolerance = FLOAT_UNARY[name]

    @given(pairs())
    @RELAXED
    def check(pair):
        array, tensor = pair
        with np.errstate(all="ignore"):
            # Integers convert to the default dtype first, and lose what does not fit.
            converted = array if array.dtype in FLOATS else array.astype(np.float32)
            expected = reference(wide(converted))
        assert_matches(getattr(torch, name)(tensor), expected, float_dtype(array), tolerance)
        assert_matches(getattr(tensor, name)(), expected, float_dtype(array), tolerance)

    check()


# --- one operand, same dtype --------------------------------------------------------------------------

SAME_UNARY = {
    "abs": np.abs,
    "neg": np.negative,
    "sign": np.sign,
    "floor": np.floor,
    "ceil": np.ceil,
    "trunc": np.trunc,
    "round": np.round,
    "relu": lambda x: np.where(x < 0, x.dtype.type(0), x),
    "square": np.square,
    "clone": np.copy,
}


@pytest.mark.parametrize("name", SAME_UNARY)
def test_functions_that_keep_the_dtype(name):
    @given(pairs((*FLOATS, *INTEGERS)))
    @RELAXED
    def check(pair):
        array, tensor = pair
        with np.errstate(all="ignore"):
            expected = SAME_UNARY[name](array)
            if name == "sign" and array.dtype in FLOATS:
                expected = np.where(np.isnan(array), array.dtype.type(0), expected)
        assert_matches(getattr(torch, name)(tensor), expected, dtype_of(array))

    check()


PREDICATES = {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite, "logical_not": np.logical_not}


@pytest.mark.parametrize("name", PREDICATES)
def test_predicates(name):
    @given(pairs())
    @RELAXED
    def check(pair):
        array, tensor = pair
        assert_matches(getattr(torch, name)(tensor), PREDICATES[name](array), torch.bool)

    check()


# --- two operands ---------------------------------------------------------------------------------------


ARITHMETIC = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@pytest.mark.parametrize("name", ARITHMETIC)
def test_arithmetic(name):
    @given(broadcasting((*FLOATS, *INTEGERS)))
    @RELAXED
    def check(both):
        (a, x), (b, y) = both
        dtype = promoted(a, b)
        with np.errstate(all="ignore"):
            expected = ARITHMETIC[name](*in_dtype(dtype, a, b))
        assert_matches(getattr(torch, name)(x, y), expected, dtype)
        assert_matches(getattr(x, name)(y), expected, dtype)

    check()


@given(broadcasting())
@RELAXED
def test_true_division(both):
    (a, x), (b, y) = both
    dtype = promoted(a, b)
    dtype = dtype if dtype.is_floating_point else torch.float32
    with np.errstate(all="ignore"):
        expected = np.divide(*in_dtype(dtype, a, b))
    assert_matches(x / y, expected, dtype)
    assert_matches(torch.div(x, y), expected, dtype)


@given(broadcasting(FLOATS))
@RELAXED
def test_float_floor_division_and_remainder(both):
    (a, x), (b, y) = both
    dtype = promoted(a, b)
    with np.errstate(all="ignore"):
        left, right = np.broadcast_arrays(*in_dtype(dtype, a, b))
        remainder = np.remainder(left, right)
    assert_matches(x % y, np.where(np.isinf(right) & np.isfinite(left), (x % y).numpy(), remainder), dtype)
    finite = np.isfinite(left) & np.isfinite(right) & (right != 0)
    quotient = (x // y).numpy()
    assert dtype_of(quotient) is dtype
    exact = np.floor(left.astype(np.longdouble) / np.where(finite, right, 1).astype(np.longdouble))
    small = finite & (np.abs(exact) < 2**20)
    np.testing.assert_array_equal(quotient[small], exact[small].astype(quotient.dtype))


@given(broadcasting(INTEGERS))
@RELAXED
def test_integer_floor_division_and_remainder(both):
    (a, x), (b, y) = both
    dtype = promoted(a, b)
    left, right = np.broadcast_arrays(*in_dtype(dtype, a, b))
    if (right == 0).any():
        for call in (lambda: x // y, lambda: x % y):
            with pytest.raises((ZeroDivisionError, RuntimeError), match="[Zz]ero"):
                call()
        return
    with np.errstate(all="ignore"):
        assert_matches(x // y, np.floor_divide(left, right), dtype)
        assert_matches(x % y, np.remainder(left, right), dtype)


@given(broadcasting(FLOATS))
@RELAXED
def test_power(both):
    (a, x), (b, y) = both
    dtype = promoted(a, b)
    with np.errstate(all="ignore"):
        left, right = in_dtype(dtype, a, b)
        expected = np.power(left.astype(np.longdouble), right.astype(np.longdouble))
    assert_matches(x**y, expected, dtype, tolerance=2)


@given(broadcasting(INTEGERS))
@RELAXED
def test_integer_power(both):
    (a, x), (b, y) = both
    dtype = promoted(a, b)
    left, right = np.broadcast_arrays(*in_dtype(dtype, a, b))
    modulus = 2 ** (left.dtype.itemsize * 8)

    def power(base, exponent):
        base, exponent = int(base), int(exponent)
        if exponent < 0:
            return 1 if base == 1 else (1 if exponent % 2 == 0 else -1) if base == -1 else 0
        bits = pow(base, exponent, modulus)
        return bits - modulus if bits >= modulus // 2 else bits

    expected = [power(p, q) for p, q in zip(left.flatten(), right.flatten(), strict=True)]
    assert_matches(x**y, np.array(expected, dtype=left.dtype).reshape(left.shape), dtype)


@given(broadcasting())
@RELAXED
def test_angles(both):
    (a, x), (b, y) = both
    dtype = promoted(a, b)
    dtype = dtype if dtype.is_floating_point else torch.float32
    with np.errstate(all="ignore"):
        left, right = in_dtype(dtype, a, b)
        expected = np.arctan2(left.astype(np.longdouble), right.astype(np.longdouble))
    assert_matches(torch.atan2(x, y), expected, dtype, tolerance=2)
    assert_matches(x.arctan2(y), expected, dtype, tolerance=2)


COMPARISONS = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
}


@pytest.mark.parametrize("name", COMPARISONS)
def test_comparisons(name):
    @given(broadcasting())
    @RELAXED
    def check(both):
        (a, x), (b, y) = both
        expected = COMPARISONS[name](*in_dtype(promoted(a, b), a, b))
        assert_matches(getattr(torch, name)(x, y), expected, torch.bool)

    check()


LOGICAL = {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}


@pytest.mark.parametrize("name", LOGICAL)
def test_logical(name):
    @given(broadcasting())
    @RELAXED
    def check(both):
        (a, x), (b, y) = both
        assert_matches(getattr(torch, name)(x, y), LOGICAL[name](a, b), torch.bool)

    check()


BITWISE = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}


@pytest.mark.parametrize("name", BITWISE)
def test_bitwise(name):
    @given(broadcasting((*INTEGERS, np.bool_)))
    @RELAXED
    def check(both):
        (a, x), (b, y) = both
        dtype = promoted(a, b)
        assert_matches(getattr(torch, name)(x, y), BITWISE[name](*in_dtype(dtype, a, b)), dtype)

    check()


@given(broadcasting(), pairs((np.bool_,)))
@RELAXED
def test_where(both, condition):
    (a, x), (b, y) = both
    mask, tensor_mask = condition
    try:
        expected = np.where(mask, *in_dtype(promoted(a, b), a, b))
    except ValueError:
        with pytest.raises(RuntimeError):
            torch.where(tensor_mask, x, y)
        return
    assert_matches(torch.where(tensor_mask, x, y), expected, promoted(a, b))


@given(pairs((*FLOATS, *INTEGERS)), st.one_of(st.none(), st.integers(-5, 5)), st.one_of(st.none(), st.integers(-5, 5)))
@RELAXED
def test_clamp(pair, low, high):
    array, tensor = pair
    if low is None and high is None:
        with pytest.raises((ValueError, RuntimeError), match="min|max"):
            tensor.clamp(low, high)
        return
    expected = array
    if low is not None:
        expected = np.where(expected < low, array.dtype.type(low), expected)
    if high is not None:
        expected = np.where(expected > high, array.dtype.type(high), expected)
    assert_matches(tensor.clamp(low, high), expected, dtype_of(array))
    assert_matches(torch.clamp(tensor, min=low, max=high), expected, dtype_of(array))
