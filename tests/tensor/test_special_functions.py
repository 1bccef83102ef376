"""Special functions of torch.special against mpmath, at their edges against torch's values, and their gradients."""

import math

import mpmath
import pytest

import minidynamo as torch
from minidynamo import special

POINTS = [
    -60.3,
    -12.2,
    -9.9,
    -7.3,
    -3.4,
    -1.7,
    -0.4,
    -1e-3,
    1e-6,
    0.013,
    0.3,
    0.77,
    1.4,
    1.99,
    2.05,
    3.7,
    8.8,
    29.9,
    44.0,
]
POSITIVE = [x for x in POINTS if x > 0]
INF, NAN = math.inf, math.nan


def normal(x):
    return mpmath.erfc(-x / mpmath.sqrt(2)) / 2


ONE = {
    "airy_ai": (mpmath.airyai, POINTS),
    "bessel_j0": (lambda x: mpmath.besselj(0, x), POINTS),
    "bessel_j1": (lambda x: mpmath.besselj(1, x), POINTS),
    "bessel_y0": (lambda x: mpmath.bessely(0, x), POSITIVE),
    "bessel_y1": (lambda x: mpmath.bessely(1, x), POSITIVE),
    "erfcx": (lambda x: mpmath.exp(x * x) * mpmath.erfc(x), POINTS[1:]),
    "i0": (lambda x: mpmath.besseli(0, x), POINTS),
    "i0e": (lambda x: mpmath.besseli(0, x) * mpmath.exp(-abs(x)), POINTS),
    "i1": (lambda x: mpmath.besseli(1, x), POINTS),
    "i1e": (lambda x: mpmath.besseli(1, x) * mpmath.exp(-abs(x)), POINTS),
    "log_ndtr": (lambda x: mpmath.log(normal(x)), POINTS[:-2]),
    "ndtr": (normal, POINTS[2:]),
    "modified_bessel_i0": (lambda x: mpmath.besseli(0, x), POINTS),
    "modified_bessel_i1": (lambda x: mpmath.besseli(1, x), POINTS),
    "modified_bessel_k0": (lambda x: mpmath.besselk(0, x), POSITIVE),
    "modified_bessel_k1": (lambda x: mpmath.besselk(1, x), POSITIVE),
    "scaled_modified_bessel_k0": (lambda x: mpmath.besselk(0, x) * mpmath.exp(x), POSITIVE),
    "scaled_modified_bessel_k1": (lambda x: mpmath.besselk(1, x) * mpmath.exp(x), POSITIVE),
    "spherical_bessel_j0": (lambda x: mpmath.sin(x) / x, POINTS),
}


def check(found, wanted, tolerance):
    for value, exact in zip(found, wanted, strict=True):
        assert abs(value - exact) <= tolerance * abs(exact), (value, exact)


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_value(name):
    function, points = ONE[name]
    with mpmath.workdps(60):
        exact = [function(mpmath.mpf(x)) for x in points]
        check(getattr(special, name)(torch.tensor(points, dtype=torch.float64)).tolist(), exact, 1e-14)
        single = torch.tensor(points)
        exact = [function(mpmath.mpf(x)) for x in single.tolist()]
        small = [(v, e) for v, e in zip(getattr(special, name)(single).tolist(), exact) if 1e-37 < abs(e) < 1e38]
        check(*zip(*small, strict=True), 1e-5 if name == "ndtr" else 1e-6)


def test_ndtri():
    points = torch.tensor([1e-20, 1e-5, 0.01, 0.26, 0.4999, 0.7, 0.76, 0.99], dtype=torch.float64)
    check(special.ndtr(special.ndtri(points)).tolist(), points.tolist(), 1e-13)
    assert special.ndtri(torch.tensor([0.0, 1.0, 0.5])).tolist() == [-INF, INF, 0]
    assert special.ndtri(torch.tensor([-1.0, 2.0])).isnan().all()


EDGES = {
    "airy_ai": [NAN, 0.35502806305885315, NAN],
    "bessel_j0": [NAN, 1, NAN],
    "bessel_y0": [NAN, -INF, NAN],
    "bessel_y1": [NAN, -INF, NAN],
    "erfcx": [INF, 1, 0],
    "i0": [NAN, 1, NAN],
    "i0e": [0, 1, 0],
    "i1e": [0, 0, 0],
    "log_ndtr": [-INF, -0.6931471824645996, 0],
    "ndtr": [0, 0.5, 1],
    "modified_bessel_k0": [NAN, INF, 0],
    "scaled_modified_bessel_k1": [NAN, INF, 0],
    "spherical_bessel_j0": [0, 1, 0],
}


@pytest.mark.parametrize("name", EDGES)
def test_edges(name):
    found = getattr(special, name)(torch.tensor([-INF, 0, INF]))
    assert torch.equal(found.nan_to_num(nan=7), torch.tensor(EDGES[name]).nan_to_num(nan=7))
    assert getattr(special, name)(torch.tensor([1, 2])).dtype is torch.float32


def test_gamma_functions():
    with mpmath.workdps(80):
        for a in (0.01, 0.5, 1, 5, 25, 1e4):
            for x in (a * k for k in (0.01, 0.9, 1, 1.3, 20)):
                pair = torch.tensor([a, x], dtype=torch.float64)
                lower = mpmath.gammainc(a, 0, mpmath.mpf(pair[1].item()), regularized=True)
                for function, exact in ((special.gammainc, lower), (special.gammaincc, 1 - lower)):
                    if exact > 1e-60:
                        check([function(*pair).item()], [exact], 1e-12)
        for s in (1.5, 3.3, 10):
            for q in (0.01, 1, 20, 1e5):
                check(
                    [special.zeta(torch.tensor(s, dtype=torch.float64), q).item()],
                    [mpmath.zeta(mpmath.mpf(s), q)],
                    1e-14,
                )
        for n in (0, 1, 2, 7):
            for x in (-3.3, -0.5, 0.1, 4.4, 30):
                check(
                    [torch.polygamma(n, torch.tensor(x).double()).item()],
                    [mpmath.polygamma(n, torch.tensor(x).item())],
                    1e-12,
                )
    edges = torch.igamma(torch.tensor([0.0, 0, 1, INF, 1, -1]), torch.tensor([1.0, 0, 0, 1, INF, 1]))
    assert torch.equal(edges.nan_to_num(nan=7), torch.tensor([1.0, 7, 0, 0, 1, 7]))
    assert special.zeta(torch.tensor([1.0, 0.5, 2.0, 2.5]), torch.tensor([2.0, 2.0, -1.0, -1.5])).nan_to_num(
        7, 9
    ).tolist() == [9, 7, 9, 7]
    with pytest.raises(RuntimeError, match="at least 0"):
        torch.polygamma(-1, torch.ones(2))
    with pytest.raises(RuntimeError, match="at least 1"):
        torch.mvlgamma(torch.ones(2), 0)
    with pytest.raises(TypeError):
        torch.polygamma(torch.ones(2), 1)
    with pytest.raises(NotImplementedError):
        torch.igamma(torch.ones(2, dtype=torch.int64), torch.ones(2, dtype=torch.int64))
    check([torch.mvlgamma(torch.tensor(3.0).double(), 3).item()], [2.694925], 1e-6)


# Degree 0, 1, 2, 3 as polynomials.
POLYNOMIALS = {
    "chebyshev_polynomial_t": lambda x: [1, x, 2 * x * x - 1, 4 * x**3 - 3 * x],
    "chebyshev_polynomial_u": lambda x: [1, 2 * x, 4 * x * x - 1, 8 * x**3 - 4 * x],
    "chebyshev_polynomial_v": lambda x: [1, 2 * x - 1, 4 * x * x - 2 * x - 1, 8 * x**3 - 4 * x * x - 4 * x + 1],
    "chebyshev_polynomial_w": lambda x: [1, 2 * x + 1, 4 * x * x + 2 * x - 1, 8 * x**3 + 4 * x * x - 4 * x - 1],
    "hermite_polynomial_h": lambda x: [1, 2 * x, 4 * x * x - 2, 8 * x**3 - 12 * x],
    "hermite_polynomial_he": lambda x: [1, x, x * x - 1, x**3 - 3 * x],
    "laguerre_polynomial_l": lambda x: [1, 1 - x, x * x / 2 - 2 * x + 1, (-(x**3) + 9 * x * x - 18 * x + 6) / 6],
    "legendre_polynomial_p": lambda x: [1, x, (3 * x * x - 1) / 2, (5 * x**3 - 3 * x) / 2],
}


@pytest.mark.parametrize("name", POLYNOMIALS)
def test_polynomials(name):
    function = getattr(special, name)
    for x in (-3.0, -1.0, -0.5, 0.0, 0.3, 1.0, 2.0):
        given = torch.tensor(x, dtype=torch.float64)
        found = function(given, torch.tensor([0.0, 1.7, 2.0, 3.9], dtype=torch.float64))
        assert torch.allclose(found, torch.tensor([float(v) for v in POLYNOMIALS[name](x)], dtype=torch.float64)), x
    assert function(torch.tensor([0.5]), -1).item() == 0 == function(0.5, torch.tensor([NAN])).item()
    if name.startswith("chebyshev"):
        x = torch.linspace(-0.9, 1.9, 8, dtype=torch.float64)
        assert torch.allclose(getattr(special, "shifted_" + name)(x, 12), function(2 * x - 1, 12))
        # By angles inside (-1, 1) what the recurrence gives.
        for n in (12, 13):
            inside = torch.tensor([-0.7, 0.2], dtype=torch.float64)
            wanted = 2 * inside * function(inside, n - 1) - function(inside, n - 2)
            assert torch.allclose(function(inside, n), wanted)
    with pytest.raises(TypeError):
        function(0.5, 2)


GRADIENTS = {
    "i0": torch.i0,
    "i0e": special.i0e,
    "i1": special.i1,
    "i1e": special.i1e,
    "erfcx": special.erfcx,
    "ndtr": special.ndtr,
    "log_ndtr": special.log_ndtr,
    "ndtri": lambda x: special.ndtri(x.sigmoid()),
    "igamma": lambda x: torch.igamma(torch.tensor(1.5).double(), x.exp()),
    "igammac": lambda x: torch.igammac(torch.tensor(1.5).double(), x.exp()),
    "zeta": lambda x: special.zeta(3.0, x.exp()),
    "polygamma": lambda x: x.exp().polygamma(1),
    "mvlgamma": lambda x: torch.mvlgamma(x.exp() + 1, 2),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name):
    x = torch.tensor([-1.3, -0.4, 0.6, 1.1], dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(GRADIENTS[name], (x,))
    assert torch.autograd.gradgradcheck(GRADIENTS[name], (x,))
    assert torch.func.vmap(GRADIENTS[name])(x).tolist() == GRADIENTS[name](x).tolist()


def test_what_has_no_gradient():
    x = torch.ones(2, requires_grad=True)
    assert not special.bessel_j0(x).requires_grad and not special.legendre_polynomial_p(x, 2).requires_grad
    with pytest.raises(NotImplementedError):
        torch.igamma(x, x).sum().backward()
    assert special.i1(torch.zeros(2, requires_grad=True)).requires_grad
