"""Activations and the other functions made of several steps, against NumPy in a wider type."""

import math

import numpy as np
import pytest
from hypothesis import given

import minidynamo as torch
from tensor.oracle import FLOATS, RELAXED, dtype_of, pairs

pytestmark = pytest.mark.version_free  # values, which no Python takes part in computing
F = torch.nn.functional


def _sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def _erf(x):
    return np.vectorize(math.erf, otypes=[np.float64])(x) if x.size else x


def _elu(x, alpha=1.0, width=1.0):
    return np.where(x <= 0, alpha * np.expm1(x / width), x)


def _softplus(x, beta, threshold):
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


# function, NumPy's, how much the steps may lose: relative to the result, and to 1 (or the operand, if that is larger)
CASES = {
    "silu": (F.silu, lambda x: x * _sigmoid(x), 4, 0),
    "mish": (F.mish, lambda x: x * np.tanh(np.log1p(np.exp(x))), 8, 0),
    "gelu": (F.gelu, lambda x: x * 0.5 * (1 + _erf(x / math.sqrt(2))), 4, 2),
    "gelu tanh": (
        lambda x: F.gelu(x, approximate="tanh"),
        lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
        4,
        4,
    ),
    "logsigmoid": (F.logsigmoid, lambda x: np.minimum(x, 0) - np.log1p(np.exp(-np.abs(x))), 4, 0),
    "hardsigmoid": (F.hardsigmoid, lambda x: np.clip(x + 3, 0, 6) / 6, 2, 1),
    "hardswish": (F.hardswish, lambda x: x * np.clip(x + 3, 0, 6) / 6, 4, 2),
    "softplus": (F.softplus, lambda x: _softplus(x, 1, 20), 4, 0),
    "softplus 3 5": (lambda x: F.softplus(x, 3, 5), lambda x: _softplus(x, 3, 5), 64, 0),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.25), lambda x: np.where(x > 0, x, x * 0.25), 0, 0),
    "elu": (lambda x: F.elu(x, 0.5), lambda x: _elu(x, 0.5), 4, 0),
    "celu": (lambda x: F.celu(x, 2.0), lambda x: _elu(x, 2.0, 2.0), 4, 0),
    "selu": (F.selu, lambda x: 1.0507009873554805 * _elu(x, 1.6732632423543772), 8, 0),
    "hardtanh": (F.hardtanh, lambda x: np.clip(x, -1, 1), 0, 0),
    "relu6": (F.relu6, lambda x: np.clip(x, 0, 6), 0, 0),
    "threshold": (lambda x: F.threshold(x, 0.5, 20), lambda x: np.where(x <= 0.5, 20, x), 0, 0),
    "softsign": (F.softsign, lambda x: x / (1 + np.abs(x)), 4, 0),
    "tanhshrink": (F.tanhshrink, lambda x: x - np.tanh(x), 4, 2),
    "softshrink": (F.softshrink, lambda x: np.where(np.abs(x) > 0.5, x - np.sign(x) * 0.5, x * 0), 2, 0),
    "hardshrink": (F.hardshrink, lambda x: np.where(np.abs(x) <= 0.5, 0, x), 0, 0),
    "frac": (torch.frac, lambda x: x - np.trunc(x), 0, 0),
    "sinc": (torch.sinc, np.sinc, 4, 64),
    "logit": (
        lambda x: torch.logit(x, 0.125),
        lambda x: np.log(np.clip(x, 0.125, 0.875) / (1 - np.clip(x, 0.125, 0.875))),
        4,
        4,
    ),
    "deg2rad": (torch.deg2rad, np.deg2rad, 4, 0),
    "rad2deg": (torch.rad2deg, np.rad2deg, 4, 0),
    "nan_to_num": (torch.nan_to_num, lambda x: x, 0, 0),
}
BOUNDED = {"sinc": 100, "gelu tanh": 1e6, "mish": 700, "softplus 3 5": 1e6}


@pytest.mark.parametrize("name", CASES)
def test_against_numpy(name):
    ours, theirs, relative, absolute = CASES[name]

    @given(pairs(FLOATS))
    @RELAXED
    def check(pair):
        array, tensor = pair
        wide = array.astype(np.float64 if array.dtype == np.float32 else np.longdouble)
        with np.errstate(all="ignore"):
            source = np.nan_to_num(array).astype(wide.dtype) if name == "nan_to_num" else wide
            expected = np.asarray(theirs(source))
            limit = np.finfo(array.dtype).max
            use = (np.abs(wide) < BOUNDED.get(name, np.inf)) & ~(np.abs(expected) > limit / 4)
            result = ours(tensor)
            assert result.dtype is dtype_of(array) and tuple(result.shape) == array.shape
            found = result.numpy().astype(wide.dtype)
            eps, tiny = np.finfo(array.dtype).eps, float(np.finfo(array.dtype).tiny)
            slack = eps * (relative * np.abs(expected) + absolute * np.maximum(1, np.abs(wide))) + 4 * tiny
            close = (np.abs(found - expected) <= slack) | (found == expected) | (np.isnan(found) & np.isnan(expected))
        assert close[use & np.isfinite(wide)].all(), (array, found, expected)

    check()


def test_ends_of_activations():
    ends = torch.tensor([float("inf"), float("-inf"), float("nan"), 0.0, -0.0])
    assert [str(v) for v in F.silu(ends).tolist()] == ["inf", "nan", "nan", "0.0", "-0.0"]
    assert [str(v) for v in F.softplus(ends).tolist()] == [
        "inf",
        "0.0",
        "nan",
        "0.6931471824645996",
        "0.6931471824645996",
    ]
    assert [str(v) for v in F.leaky_relu(ends).tolist()] == ["inf", "-inf", "nan", "0.0", "-0.0"]
    assert [str(v) for v in F.elu(ends).tolist()] == ["inf", "-1.0", "nan", "0.0", "-0.0"]
    assert [str(v) for v in F.hardtanh(ends).tolist()] == ["1.0", "-1.0", "nan", "0.0", "-0.0"]
    assert [str(v) for v in F.logsigmoid(ends).tolist()][:3] == ["0.0", "-inf", "nan"]
    assert torch.nan_to_num(ends, 1.5).tolist()[:3] == [3.4028234663852886e38, -3.4028234663852886e38, 1.5]
    assert torch.heaviside(ends, torch.full((5,), 0.5)).tolist() == [1.0, 0.0, 0.0, 0.5, 0.5]


@given(pairs(FLOATS, shape=(3, 2)), pairs(FLOATS, shape=(3, 2)))
@RELAXED
def test_two_operands(first, second):
    (a, x), (b, y) = first, second
    if a.shape != b.shape or a.dtype != b.dtype:
        return
    with np.errstate(all="ignore"):
        wide_a, wide_b = a.astype(np.longdouble), b.astype(np.longdouble)
        sums = {"logaddexp": np.logaddexp(wide_a, wide_b), "logaddexp2": np.logaddexp2(wide_a, wide_b)}
        for name, expected in sums.items():
            found = getattr(torch, name)(x, y).numpy()
            slack = 8 * np.finfo(a.dtype).eps * (1 + np.maximum(np.abs(a), np.abs(b)))
            close = (np.abs(found - expected) <= slack) | (found == expected) | (np.isnan(found) & np.isnan(expected))
            assert close.all(), (name, a, b, found, expected)
        hypot = np.hypot(wide_a, wide_b).astype(a.dtype)
        np.testing.assert_allclose(
            torch.hypot(x, y).numpy(),
            hypot,
            rtol=2 * np.finfo(a.dtype).eps,
            atol=float(np.finfo(a.dtype).smallest_subnormal),
        )
        np.testing.assert_array_equal(torch.copysign(x, y).numpy(), np.copysign(a, b))
        np.testing.assert_array_equal(torch.fmax(x, y).numpy(), np.fmax(a, b))
        np.testing.assert_array_equal(torch.fmin(x, y).numpy(), np.fmin(a, b))
        np.testing.assert_array_equal(torch.signbit(x).numpy(), np.signbit(a))
        np.testing.assert_array_equal(torch.isposinf(x).numpy(), np.isposinf(a))
        np.testing.assert_array_equal(torch.isneginf(x).numpy(), np.isneginf(a))


@given(pairs((np.int32, np.int64), shape=(4,)), pairs((np.int32, np.int64), shape=(4,)))
@RELAXED
def test_shifts(first, second):
    (a, x), (b, y) = first, second
    if a.shape != b.shape or a.dtype != b.dtype:
        return
    width = a.dtype.itemsize * 8
    left, right = [], []
    for p, q in zip(a.flatten().tolist(), b.flatten().tolist(), strict=True):
        inside = 0 <= q < width
        bits = (p << q) % 2**width if inside else 0
        left.append(bits - 2**width if bits >= 2 ** (width - 1) else bits)
        right.append(p >> (q if inside else width - 1))
    assert (x << y).flatten().tolist() == torch.bitwise_left_shift(x, y).flatten().tolist() == left
    assert (x >> y).flatten().tolist() == torch.bitwise_right_shift(x, y).flatten().tolist() == right


def test_weighted_sums_and_powers():
    a, b, c = (np.linspace(start, start + 3, 6).reshape(2, 3) for start in (-2, 0.5, 1))
    x, y, z = (torch.from_numpy(v) for v in (a, b, c))
    np.testing.assert_allclose(torch.addcmul(x, y, z, value=0.5).numpy(), a + 0.5 * b * c, rtol=1e-15)
    np.testing.assert_allclose(torch.addcdiv(x, y, z, value=-2).numpy(), a - 2 * b / c, rtol=1e-14)
    for weight in (0.0, 0.25, 0.75, 1.0):
        np.testing.assert_allclose(torch.lerp(x, y, weight).numpy(), a + weight * (b - a), atol=1e-15)
    np.testing.assert_allclose(torch.lerp(x, y, z).numpy(), a + c * (b - a), atol=1e-14)
    np.testing.assert_allclose(
        torch.float_power(y.float(), 2.5).numpy(), b.astype(np.float32).astype(float) ** 2.5, rtol=1e-15
    )
    assert torch.float_power(torch.tensor([1, 2, 3]), 2).dtype is torch.float64
    np.testing.assert_allclose(torch.xlogy(x, z).numpy(), a * np.log(c), rtol=1e-15)
    assert torch.xlogy(torch.zeros(3), torch.tensor([0.0, float("nan"), -1.0])).tolist()[::2] == [0.0, 0.0]


def test_parametric_relu():
    a = np.arange(24.0).reshape(2, 3, 4) - 11
    weight = np.array([0.5, -1.0, 2.0])
    expected = np.where(a > 0, a, a * weight[None, :, None])
    np.testing.assert_array_equal(torch.prelu(torch.from_numpy(a), torch.from_numpy(weight)).numpy(), expected)
    with pytest.raises(RuntimeError, match="channel size = 3"):
        torch.prelu(torch.from_numpy(a), torch.ones(4, dtype=torch.float64))


WRONG = {
    "gelu": (lambda: F.gelu(torch.ones(2), approximate="fast"), RuntimeError, "none or tanh"),
    "silu of ints": (lambda: F.silu(torch.ones(2, dtype=torch.int64)), RuntimeError, "silu"),
    "softshrink": (lambda: F.softshrink(torch.ones(2), -1), RuntimeError, "lambda"),
    "hardtanh": (lambda: F.hardtanh(torch.ones(2), 2, 1), ValueError, "min_val"),
    "glu": (lambda: F.glu(torch.ones(3)), RuntimeError, "even"),
    "addcdiv of ints": (lambda: torch.addcdiv(*[torch.ones(2, dtype=torch.int64)] * 3), RuntimeError, "addcdiv"),
    "lerp dtypes": (lambda: torch.lerp(torch.ones(2), torch.ones(2).double(), 0.5), RuntimeError, "dtype"),
    "positive bool": (lambda: torch.positive(torch.ones(2) > 0), RuntimeError, "bool"),
    "heaviside": (lambda: torch.heaviside(torch.ones(2), torch.ones(2).double()), RuntimeError, "dtypes"),
    "celu": (lambda: torch.celu(torch.ones(2), 0.0), RuntimeError, "alpha"),
}


@pytest.mark.parametrize("name", WRONG)
def test_refusals(name):
    call, error, text = WRONG[name]
    with pytest.raises(error, match=text):
        call()
