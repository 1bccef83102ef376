"""Special functions on a device: the CPU's bits at many places, at their edges, and for each layout of operands."""

import math
from functools import partial

import pytest

import minidynamo as torch
from gpu.device_results import same
from minidynamo import _C, special

INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, 0.5, -0.5, 1e-30, -1e-30, 1e30, -1e30, INF, -INF, NAN, 20.0, 26.0, 26.5, 1.5]
ONE = {
    **{name: getattr(torch, name) for name in ("erfinv", "lgamma", "digamma", "i0")},
    **{
        name: getattr(special, name)
        for name in (
            "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 erfcx i0e i1 i1e log_ndtr modified_bessel_i0 "
            "modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 ndtri scaled_modified_bessel_k0 "
            "scaled_modified_bessel_k1 spherical_bessel_j0"
        ).split()
    },
}
WIDE = (torch.float32, torch.float64)
HALVES = (torch.float16, torch.bfloat16)
OF_HALVES = ("erfinv", "lgamma", "digamma", "i0", "i0e", "i1", "i1e")
POLYNOMIALS = [name for name in dir(special) if "_polynomial_" in name]


@pytest.fixture(autouse=True)
def nothing_on_the_cpu():
    before = dict(_C._device_calls_on_host())
    yield
    assert _C._device_calls_on_host() == before


def places(dtype):
    torch.manual_seed(2)
    x = torch.cat([torch.randn(60, dtype=torch.float64) * 9, torch.rand(40, dtype=torch.float64) * 2 - 1])
    return torch.cat([x, torch.tensor(EDGES, dtype=torch.float64)]).to(dtype)


@pytest.mark.parametrize("name, dtype", [(n, t) for n in ONE for t in (*WIDE, *(HALVES if n in OF_HALVES else ()))])
def test_functions_of_one_value(name, dtype):
    x = places(dtype)
    same(ONE[name], x)
    same(lambda x: ONE[name](x[1:101].reshape(4, 25)[::2].t()), x)
    same(lambda x: ONE[name](x[:1].expand(3, 2)), x)


@pytest.mark.parametrize("name", ONE)
def test_whole_numbers(name):
    same(ONE[name], torch.arange(-3, 6))


def each_with_each(function, x, y):
    return function(x[:, None], y[:40:3])


@pytest.mark.parametrize("dtype", WIDE)
def test_functions_of_two_values(dtype):
    x = places(dtype)
    size = x.abs()
    for function in (special.gammainc, special.gammaincc, special.zeta):
        same(partial(each_with_each, function), size, size)
    same(lambda x: special.zeta(2.5, x), size)
    same(lambda x: special.zeta(x, 3), x)
    same(lambda q: special.zeta(3.0, q), torch.tensor([-0.5, -2.25, -1e5 - 0.5, -3.0, NAN], dtype=dtype))
    for n in (0, 1, 2, 5):
        same(partial(torch.polygamma, n), x)


@pytest.mark.parametrize("dtype", HALVES)
def test_functions_of_two_halves(dtype):
    size = places(dtype).abs()
    for function in (special.gammainc, special.gammaincc):
        same(partial(each_with_each, function), size, size)


@pytest.mark.parametrize("dtype", WIDE)
@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name, dtype):
    x = places(dtype)
    degrees = torch.tensor([0, 1, 2.7, 9, 15, -1, NAN], dtype=dtype)
    same(lambda x, n: getattr(special, name)(x[:, None] / 4, n), x, degrees)
    same(lambda x: getattr(special, name)(x, 4), x)


def test_in_compiled_functions():
    def loss(x):
        return (torch.lgamma(x.abs() + 1) + special.i0e(x) * torch.digamma(x.abs() + 0.5)).sum()

    found = []
    for device in ("cpu", "cuda"):
        x = places(torch.float32)[:100].to(device).requires_grad_()
        torch.compile(loss)(x).backward()
        found.append(x.grad.tolist())
    assert found[0] == found[1]
