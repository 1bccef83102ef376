"""Densities and probabilities, and what follows from them: moments, entropies, distribution functions."""

import math

import numpy as np
import pytest

import minidynamo as torch
import minidynamo.distributions as D
from distributions.families import CONTINUOUS, DISCRETE, HEAVY_TAILS, integration, make

# Numbers next to 1 have few digits in 1 - x, Laplace's density has a kink, VonMises' Bessel function is a fit.
LOOSE = {"Beta": 2e-4, "Kumaraswamy": 2e-4, "Laplace": 1e-4, "VonMises": 1e-6, "ContinuousBernoulli": 1e-6}


def numbers(tensor):
    return np.array(tensor.tolist())


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_integrate_to_one(name):
    d, _ = make(name)
    for i in range(3):
        x, weights, density = integration(name, d, i)
        assert weights @ density == pytest.approx(1, abs=LOOSE.get(name, 1e-8))


@pytest.mark.parametrize("name", [n for n in CONTINUOUS if n not in HEAVY_TAILS | {"VonMises"}])
def test_moments_are_integrals(name):
    d, _ = make(name)
    for i in range(3):
        x, weights, density = integration(name, d, i)
        mean = weights @ (density * x)
        tolerance = LOOSE.get(name, 1e-6)
        assert d.mean[i].item() == pytest.approx(mean, rel=tolerance, abs=tolerance)
        variance = weights @ (density * (x - mean) ** 2)
        assert d.variance[i].item() == pytest.approx(variance, rel=max(tolerance, 1e-4))
        assert d.stddev[i].item() == pytest.approx(math.sqrt(d.variance[i].item()))


@pytest.mark.parametrize("name", [n for n in CONTINUOUS if n not in {"VonMises", "FisherSnedecor"}])
def test_entropies_are_integrals(name):
    d, _ = make(name)
    for i in range(3):
        x, weights, density = integration(name, d, i)
        logs = np.log(density, out=np.zeros_like(density), where=density > 0)
        assert d.entropy()[i].item() == pytest.approx(-weights @ (density * logs), abs=LOOSE.get(name, 1e-6) * 10)
        assert d.perplexity()[i].item() == pytest.approx(math.exp(d.entropy()[i].item()))


def with_cdf():
    for name in CONTINUOUS:
        d, _ = make(name)
        try:
            d.cdf(d.sample())
        except NotImplementedError:
            continue
        yield name


WITH_CDF = list(with_cdf())


def test_there_are_distribution_functions():
    assert len(WITH_CDF) >= 17 and "Beta" not in WITH_CDF


@pytest.mark.parametrize("name", WITH_CDF)
def test_distribution_functions_are_integrals(name):
    d, _ = make(name)
    torch.manual_seed(4)
    value = d.sample()
    for i in range(3):
        x, weights, density = integration(name, d, i)
        # The trapezoidal rule cut off at a value is good to its step there.
        below = weights @ (density * (x <= value[i].item()))
        assert d.cdf(value)[i].item() == pytest.approx(below, abs=5e-3)


@pytest.mark.parametrize("name", WITH_CDF)
def test_distribution_functions_have_densities_as_slopes(name):
    d, _ = make(name)
    torch.manual_seed(5)
    value = d.sample()
    step = 1e-5 * value.abs().clamp(max=1)
    slope = (d.cdf(value + step) - d.cdf(value - step)) / (2 * step)
    torch_density = d.log_prob(value).exp()
    assert np.allclose(numbers(slope), numbers(torch_density), rtol=2e-5)


@pytest.mark.parametrize("name", [n for n in WITH_CDF if n not in {"Gamma", "Chi2", "InverseGamma"}])
def test_icdf_is_the_inverse(name):
    d, _ = make(name)
    for p in (0.01, 0.3, 0.5, 0.98):
        p = torch.full((3,), p, dtype=torch.float64)
        assert np.allclose(numbers(d.cdf(d.icdf(p))), numbers(p), atol=1e-9)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_and_their_moments(name):
    d, _ = make(name)
    support = np.array(DISCRETE[name][2], dtype=float)
    p = np.exp(numbers(d.log_prob(torch.tensor(support.tolist(), dtype=torch.float64).unsqueeze(-1))))
    assert np.allclose(p.sum(0), 1)
    mean = support @ p
    assert np.allclose(mean, numbers(d.mean))
    assert np.allclose(((support[:, None] - mean) ** 2 * p).sum(0), numbers(d.variance))
    mode = numbers(d.mode)
    known = ~np.isnan(mode)  # NaN where two values are equally likely
    assert (p.max(0) <= p[mode[known].astype(int), np.flatnonzero(known)].max() + 1e-12).any()
    if d.has_enumerate_support:
        assert numbers(d.enumerate_support(expand=False))[:, 0].tolist() == support.tolist()
        assert tuple(d.enumerate_support().shape) == (len(support), 3)
    try:
        entropy = d.entropy()
    except NotImplementedError:
        return
    logs = np.log(p, out=np.zeros_like(p), where=p > 0)
    assert np.allclose(-(p * logs).sum(0), numbers(entropy))


def test_modes_have_the_highest_density():
    for name in CONTINUOUS:
        d, _ = make(name)
        mode = numbers(d.mode) if not isinstance(d, D.ContinuousBernoulli) else np.full(3, np.nan)
        for i in np.flatnonzero(np.isfinite(mode)):
            x, _, density = integration(name, d, i)
            near = density[np.argmin(np.abs(x - mode[i]))]
            assert near >= density.max() * (1 - 1e-3) or density.max() > 1e3, name


def test_gamma_probabilities_against_known_values():
    # P(1, x) = 1 - e^-x, P(1/2, x) = erf(sqrt(x)), P(3, x) = 1 - e^-x (1 + x + x^2/2)
    x = torch.tensor([1e-8, 0.02, 0.9, 3.0, 40.0], dtype=torch.float64)
    for a, exact in (
        (1.0, -np.expm1(-numbers(x))),
        (0.5, [math.erf(math.sqrt(v)) for v in x.tolist()]),
    ):
        got = D.Gamma(torch.tensor(a, dtype=torch.float64), 1.0).cdf(x)
        assert np.allclose(numbers(got), exact, rtol=1e-12, atol=0)
    large = D.Gamma(torch.tensor(1e4, dtype=torch.float64), 1.0).cdf(torch.tensor(1e4, dtype=torch.float64))
    assert large.item() == pytest.approx(0.50132980, abs=1e-8)  # 1/2 + 1 / (3 sqrt(2 pi a)) to first order
    edges = D.Gamma(torch.tensor(2.0), 1.0, validate_args=False).cdf(torch.tensor([0.0, float("inf")]))
    assert edges.tolist() == [0, 1]


def test_float32_stays_float32():
    for name in CONTINUOUS | DISCRETE:
        kind, parameters, *_ = (CONTINUOUS | DISCRETE)[name]
        d = kind(*[torch.tensor(p, dtype=torch.float32) for p in parameters])
        draw = d.sample((2,))
        assert draw.dtype == torch.float32 and d.log_prob(draw).dtype == torch.float32, name
        assert d.mean.dtype == torch.float32
        double, _ = make(name)
        # The parameters are rounded, so only about that much agrees.
        assert np.allclose(numbers(d.log_prob(draw)), numbers(double.log_prob(draw.double())), rtol=1e-3, atol=1e-3)
