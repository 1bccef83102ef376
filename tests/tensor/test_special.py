"""erfinv, lgamma, digamma, gcd, lcm, nextafter, mode against the standard library and NumPy."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.agreement import agree
from tensor.oracle import RELAXED, ulps
from tensor.test_products import strided, tensor

mpmath.mp.prec = 120


def distance(result, x, function):
    """Units in the last place between the result and the exact value of every element."""
    exact = np.array([float(function(mpmath.mpf(float(v)))) for v in x.flatten()]).astype(x.dtype)
    return ulps(result.flatten().numpy(), exact).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_erfinv(dtype):
    rng = np.random.default_rng(0)
    near_one = 1 - np.logspace(-15 if dtype is np.float64 else -6, -1, 40)
    x = np.concatenate([rng.uniform(-1, 1, 300), near_one, -near_one, np.logspace(-30, -1, 30)]).astype(dtype)
    x = x[np.abs(x) < 1]
    assert distance(torch.erfinv(tensor(x)), x, mpmath.erfinv) <= 2
    edge = torch.special.erfinv(torch.tensor([1.0, -1.0, 0.0, 2.0, float("nan")]))
    assert edge[:3].tolist() == [math.inf, -math.inf, 0.0] and edge[3:].isnan().all()
    assert torch.erfinv(torch.tensor([0, 1])).dtype is torch.float32


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gamma(dtype):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.uniform(0.01, 60, 300), rng.uniform(-3.9, -0.1, 50), [1e-20, 1e10]]).astype(dtype)
    assert distance(torch.lgamma(tensor(x)), x, lambda v: mpmath.log(abs(mpmath.gamma(v)))) <= 2
    y = x[(np.abs(x - 1.4616321449683623) > 0.05) & (x > 0)]
    assert distance(torch.digamma(tensor(y)), y, mpmath.digamma) <= 2
    assert torch.special.gammaln(torch.tensor([0.0, -1.0])).tolist() == [math.inf, math.inf]
    poles = torch.special.psi(torch.tensor([0.0, -0.0, -2.0, math.inf]))
    assert poles[:2].tolist() == [-math.inf, math.inf] and poles[2].isnan() and poles[3] == math.inf
    assert torch.special.digamma(torch.tensor(1.0)).item() == pytest.approx(-0.5772157)


@given(st.data())
@RELAXED
def test_divisors_and_multiples(data):
    dtype = data.draw(st.sampled_from([np.int64, np.int32, np.int16, np.uint8]))
    low = 0 if dtype is np.uint8 else -100
    numbers = st.lists(st.integers(low, 100), min_size=6, max_size=6)
    a, b = (np.array(data.draw(numbers), dtype).reshape(2, 3) for _ in range(2))
    x, y = strided(a, data.draw(st.sampled_from(["dense", "reversed"]))), strided(b, "spaced")
    np.testing.assert_array_equal(torch.gcd(x, y).numpy(), np.gcd(a, b))
    np.testing.assert_array_equal(torch.gcd(x, y[0]).numpy(), np.gcd(a, b[0]))
    if dtype in (np.int64, np.int32):
        np.testing.assert_array_equal(x.lcm(y).numpy(), np.lcm(a, b))
        own = tensor(a).clone()
        assert own.gcd_(y) is own and (own.numpy() == np.gcd(a, b)).all()
        np.testing.assert_array_equal(tensor(a).clone().lcm_(y).numpy(), np.lcm(a, b))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.float16])
def test_neighbours(dtype):
    a = np.array([0.0, -0.0, 1.0, -1.0, 1.0, np.inf, np.nan, 2.0, 65504.0], dtype)
    b = np.array([1.0, -1.0, 2.0, -2.0, 1.0, 0.0, 1.0, np.nan, np.inf], dtype)
    np.testing.assert_array_equal(torch.nextafter(tensor(a), tensor(b)).numpy(), np.nextafter(a, b))
    own = tensor(a).clone().nextafter_(tensor(b))
    np.testing.assert_array_equal(own.numpy(), np.nextafter(a, b))


@given(st.data())
@RELAXED
def test_mode(data):
    a = np.array(data.draw(st.lists(st.integers(-2, 2), min_size=12, max_size=12)), np.float32).reshape(2, 3, 2)
    dim = data.draw(st.integers(-3, 2))
    x = strided(a, data.draw(st.sampled_from(["dense", "reversed", "spaced"])))
    values, places = torch.mode(x, dim, keepdim=True)
    lines = np.moveaxis(a, dim, -1).reshape(-1, a.shape[dim])
    expected = [min(set(line), key=lambda v: (-list(line).count(v), v)) for line in lines]
    kept = np.moveaxis(values.numpy(), dim, -1).reshape(-1)
    np.testing.assert_array_equal(kept, expected)
    np.testing.assert_array_equal(np.take_along_axis(a, places.numpy(), dim), values.numpy())
    assert list(x.mode(dim)[0].shape) == np.delete(a.shape, dim).tolist()
    assert torch.mode(torch.tensor(3)).indices.item() == 0


def test_compiled_as_eager():
    x, k = torch.linspace(-0.9, 0.9, 24).reshape(4, 6), torch.arange(24).reshape(4, 6)
    agree(lambda x: (x.erfinv(), torch.lgamma(x + 3), torch.digamma(x + 2), torch.nextafter(x, -x)), x,
          again=[(x[:3],), (x[:2, :5],)])  # fmt: skip
    agree(lambda k: (torch.gcd(k, k + 6), torch.lcm(k, k[0]), *torch.mode(k % 3, 1)), k)

    def in_place(x):
        y = x.clone().erfinv_()
        return y.lgamma_().digamma_()

    agree(in_place, x)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda: torch.gcd(torch.ones(2), torch.ones(2)), NotImplementedError),
        (lambda: torch.lcm(torch.ones(2) > 0, torch.ones(2) > 0), NotImplementedError),
        (lambda: torch.gcd(torch.ones(2).long(), torch.ones(3).long()), RuntimeError),
        (lambda: torch.nextafter(torch.ones(2).long(), torch.ones(2).long()), NotImplementedError),
        (lambda: torch.arange(3).erfinv_(), RuntimeError),
        (lambda: torch.mode(torch.ones(2, 0)), IndexError),
        (lambda: torch.mode(torch.ones(2), 1), IndexError),
    ],
)
def test_wrong_calls(call, error):
    with pytest.raises(error):
        call()
