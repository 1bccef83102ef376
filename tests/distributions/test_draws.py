"""Draws: their shapes, their distributions by tests of fit, and how they move with the parameters."""

import math

import mpmath
import numpy as np
import pytest

import minidynamo as torch
import minidynamo.distributions as D
from distributions.families import CONTINUOUS, DISCRETE, integration, make
from minidynamo.distributions import implicit_gradients

pytestmark = pytest.mark.version_free  # numbers, which no Python takes part in computing

COUNT = 20000
CRITICAL = 2.1 / math.sqrt(COUNT)  # Kolmogorov and Smirnov: exceeded with probability 3e-4


def numbers(tensor):
    return np.array(tensor.tolist())


@pytest.mark.parametrize("name", CONTINUOUS)
def test_draws_follow_the_density(name):
    d, _ = make(name)
    torch.manual_seed(11)
    drawn = numbers(d.sample((COUNT,)))
    assert drawn.shape == (COUNT, 3) and np.isfinite(drawn).all()
    for i in range(3):
        x, weights, density = integration(name, d, i)
        order = np.argsort(x)
        x, mass = x[order], (weights * density)[order]
        cumulative = np.cumsum(mass) - mass / 2
        expected = np.interp(np.sort(drawn[:, i]), x, cumulative)
        assert np.abs(expected - (np.arange(COUNT) + 0.5) / COUNT).max() < CRITICAL + 2 * mass.max()


def fits(drawn, probabilities):
    """Chi-squared per degree of freedom, with rare values in one class."""
    counts = np.bincount(drawn.astype(int), minlength=len(probabilities))
    assert len(counts) == len(probabilities)
    expected = probabilities * len(drawn)
    common = expected >= 8
    counts = np.append(counts[common], counts[~common].sum())
    expected = np.append(expected[common], expected[~common].sum())
    kept = expected > 1e-9
    assert counts[~kept].sum() == 0
    statistic = ((counts - expected)[kept] ** 2 / expected[kept]).sum()
    freedom = max(kept.sum() - 1, 1)
    return statistic < freedom + 4.5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("name", DISCRETE)
def test_draws_follow_the_probabilities(name):
    d, _ = make(name)
    support = torch.tensor(list(DISCRETE[name][2]), dtype=torch.float64)
    p = np.exp(numbers(d.log_prob(support.unsqueeze(-1))))
    torch.manual_seed(12)
    drawn = numbers(d.sample((COUNT,)))
    for i in range(3):
        assert fits(drawn[:, i], p[:, i])


@pytest.mark.parametrize("rate", [0.0, 0.01, 3.0, 9.9, 10.1, 55.0, 4000.0])
def test_poisson_draws_of_all_sizes(rate):
    d = D.Poisson(torch.tensor(rate, dtype=torch.float64))
    torch.manual_seed(13)
    drawn = numbers(d.sample((COUNT,)))
    top = int(rate + 12 * math.sqrt(rate) + 12)
    p = np.exp(numbers(d.log_prob(torch.arange(top, dtype=torch.float64))))
    assert fits(drawn, p)


@pytest.mark.parametrize(
    "n, p", [(0, 0.3), (5, 0.0), (5, 1.0), (40, 0.1), (40, 0.9), (100, 0.5), (3000, 0.2), (10**6, 2e-6)]
)
def test_binomial_draws_of_all_sizes(n, p):
    d = D.Binomial(n, torch.tensor(p, dtype=torch.float64))
    torch.manual_seed(14)
    drawn = numbers(d.sample((COUNT,)))
    if p in (0, 1):
        assert (drawn == n * p).all()
        return
    top = min(n, int(n * p + 12 * math.sqrt(n * p) + 12))
    p = np.exp(numbers(d.log_prob(torch.arange(top + 1, dtype=torch.float64))))
    assert fits(drawn, p)


def test_categories_follow_their_probabilities():
    p = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.0, 0.5]], dtype=torch.float64)
    torch.manual_seed(15)
    drawn = numbers(D.Categorical(p).sample((COUNT,)))
    vectors = numbers(D.OneHotCategorical(p).sample((COUNT,)))
    assert (vectors.sum(-1) == 1).all() and set(np.unique(vectors)) == {0, 1}
    for i in range(2):
        assert fits(drawn[:, i], numbers(p[i])) and fits(vectors[:, i].argmax(-1), numbers(p[i]))
    counts = numbers(D.Multinomial(6, p).sample((COUNT,)))
    assert (counts.sum(-1) == 6).all()
    assert np.allclose(counts.mean(0), 6 * numbers(p), atol=0.05)


def test_moments_of_vectors_and_matrices():
    torch.manual_seed(16)
    a = torch.tensor([0.4, 1.5, 3.0], dtype=torch.float64)
    m = torch.tensor([[1.0, 0.0], [-0.7, 0.5]], dtype=torch.float64)
    covariance = m @ m.mT
    for d in (
        D.Dirichlet(a),
        D.MultivariateNormal(a[:2], covariance),
        D.MultivariateNormal(a[:2], precision_matrix=covariance),
        D.LowRankMultivariateNormal(a[:2], m[:, :1], a[1:]),
        D.Wishart(torch.tensor(4.5, dtype=torch.float64), covariance),
        D.MixtureSameFamily(D.Categorical(a), D.Normal(a, a)),
    ):
        drawn = numbers(d.sample((COUNT,)))
        assert np.allclose(drawn.mean(0), numbers(d.mean), atol=0.12), d
        assert np.allclose(drawn.var(0), numbers(d.variance), rtol=0.08, atol=0.02), d
    normal = numbers(D.MultivariateNormal(a[:2], covariance).sample((COUNT,)))
    assert np.allclose(np.cov(normal.T), numbers(covariance), atol=0.05)


def test_correlations_of_lkj_draws_are_beta_variables():
    # (r + 1) / 2 of one correlation of n variables has Beta(c + n/2 - 1, c + n/2 - 1).
    torch.manual_seed(17)
    c, n = 1.7, 4
    factor = D.LKJCholesky(n, torch.tensor(c, dtype=torch.float64)).sample((COUNT,))
    assert bool(D.constraints.corr_cholesky.check(factor).all())
    r = numbers((factor @ factor.mT)[:, 2, 1])
    b = c + n / 2 - 1
    assert r.mean() == pytest.approx(0, abs=0.02)
    assert r.var() == pytest.approx(1 / (2 * b + 1), rel=0.05)


def test_relaxed_draws_tend_to_discrete_ones():
    torch.manual_seed(18)
    p = torch.tensor([0.2, 0.3, 0.5], dtype=torch.float64)
    cold = torch.tensor(0.01, dtype=torch.float64)
    drawn = numbers(D.RelaxedOneHotCategorical(cold, p).sample((COUNT,)))
    assert np.allclose(drawn.sum(-1), 1)
    assert np.allclose(np.round(drawn).mean(0), numbers(p), atol=0.02)
    drawn = numbers(D.RelaxedBernoulli(cold, p).sample((COUNT,)))
    assert np.allclose(np.round(drawn).mean(0), numbers(p), atol=0.02)


@pytest.mark.parametrize("name", CONTINUOUS | DISCRETE)
def test_shapes_and_gradients_of_draws(name):
    d, parameters = make(name, requires_grad=True)
    for shape in ((), (2,), (2, 1), torch.Size([4]), [5]):
        drawn = d.sample(shape)
        assert tuple(drawn.shape) == (*shape, 3) and drawn.dtype == torch.float64 and not drawn.requires_grad
    wide = d.expand((4, 3))
    assert tuple(wide.sample((2,)).shape) == (2, 4, 3)
    assert d.sample((0,)).shape == (0, 3)
    if not d.has_rsample and not isinstance(d, (D.Gumbel, D.Weibull, D.Pareto)):
        with pytest.raises(NotImplementedError):
            d.rsample()
        return
    gradients = torch.autograd.grad(d.rsample((50,)).sum(), parameters)
    assert all(bool(g.isfinite().all()) for g in gradients)


# How draws move: at a fixed probability F(x; a) = u, x is the inverse of F, which is differentiated numerically.


def moved(distribution_function, x, a, other):
    """dx/da by a step of the inverse distribution function."""
    with mpmath.workdps(40):
        x, a, other = mpmath.mpf(x), mpmath.mpf(a), mpmath.mpf(other)
        u, h = distribution_function(x, a, other), a * mpmath.mpf(10) ** -10

        def inverse(a):
            near = x - mpmath.mpf(10) ** -9 * min(x, abs(1 - x))
            return mpmath.findroot(lambda x: distribution_function(x, a, other) - u, (x, near))

        return float((inverse(a + h) - inverse(a - h)) / (2 * h))


def gamma_function(x, a, _):
    return mpmath.gammainc(a, 0, x, regularized=True)


def beta_function(x, a, b):
    return mpmath.betainc(a, b, 0, x, regularized=True)


@pytest.mark.parametrize("a", [0.05, 0.6, 1.0, 2.3, 17.0, 400.0])
def test_gamma_draws_move_as_the_inverse_distribution_function(a):
    torch.manual_seed(19)
    concentration = torch.full((4,), a, dtype=torch.float64, requires_grad=True)
    rate = torch.full((4,), 1.7, dtype=torch.float64, requires_grad=True)
    x = D.Gamma(concentration, rate).rsample()
    to_concentration, to_rate = torch.autograd.grad(x.sum(), [concentration, rate])
    assert np.allclose(numbers(to_rate), -numbers(x) / 1.7)
    for value, gradient in zip(x.tolist(), to_concentration.tolist()):
        if value > 1e-12:
            assert gradient == pytest.approx(moved(gamma_function, value * 1.7, a, 0) / 1.7, rel=1e-7)


@pytest.mark.parametrize("a, b", [(0.3, 0.4), (0.5, 3.0), (1.0, 1.0), (2.0, 0.7), (4.0, 9.0), (60.0, 35.0)])
def test_beta_draws_move_as_the_inverse_distribution_function(a, b):
    torch.manual_seed(20)
    first = torch.full((3,), a, dtype=torch.float64, requires_grad=True)
    second = torch.full((3,), b, dtype=torch.float64, requires_grad=True)
    x = D.Beta(first, second).rsample()
    gradients = torch.autograd.grad(x.sum(), [first, second])
    for value, to_first, to_second in zip(x.tolist(), *[g.tolist() for g in gradients]):
        if 1e-9 < value < 1 - 1e-9:
            assert to_first == pytest.approx(moved(beta_function, value, a, b), rel=1e-7)
            assert to_second == pytest.approx(-moved(beta_function, 1 - value, b, a), rel=1e-7)


def test_extreme_draws_move_as_exact_derivatives():
    # For x next to 0, F is x^a / (a B) for Beta(a, 1) = x^a: dx/da = -x log(x) / a exactly.
    x = torch.tensor([1e-200, 1e-9, 0.3, 0.9999999], dtype=torch.float64)
    for a in (1e-3, 0.2, 1.0, 30.0):
        a = torch.tensor(a, dtype=torch.float64)
        got = implicit_gradients.dirichlet_gradient(x, a, a + 1) * (1 - x)
        assert np.allclose(numbers(got), -numbers(x) * np.log(numbers(x)) / a.item(), rtol=1e-8)


def test_expectations_have_the_right_gradients():
    """d E[f(x)] / da, with what is known of the moments, from averages over draws."""
    torch.manual_seed(21)
    a = torch.tensor([0.8, 1.5, 3.0], dtype=torch.float64, requires_grad=True)
    for d, f, exact in (
        (
            lambda a: D.Dirichlet(a),
            lambda x: x[..., 0].square(),
            lambda a: a[0] * (a[0] + 1) / (a.sum() * (a.sum() + 1)),
        ),
        (lambda a: D.Gamma(a, 2.0), lambda x: x.square().sum(-1), lambda a: ((a + a.square()) / 4).sum()),
        (
            lambda a: D.StudentT(a + 8, a, a),
            lambda x: x.square().sum(-1),
            lambda a: (a.square() + a.square() * (a + 8) / (a + 6)).sum(),
        ),
    ):
        (got,) = torch.autograd.grad(f(d(a).rsample((30000,))).mean(), a)
        (wanted,) = torch.autograd.grad(exact(a), a)
        assert np.allclose(numbers(got), numbers(wanted), rtol=0.06, atol=0.02)
