"""Distributions of vectors and matrices, mixtures, independent and transformed ones: against NumPy's formulas."""

import math

import numpy as np
import pytest

import minidynamo as torch
import minidynamo.distributions as D
from distributions.families import doubles, nodes
from minidynamo.distributions import constraints, factorization

RNG = np.random.default_rng(3)


def numbers(tensor):
    return np.array(tensor.tolist())


def positive_definite(*shape):
    m = RNG.normal(size=shape)
    return m @ m.swapaxes(-1, -2) + 0.5 * np.eye(shape[-1])


@pytest.mark.parametrize("n", [1, 2, 7])
def test_factors_and_solutions(n):
    matrix = positive_definite(2, 3, n, n)
    (a,) = doubles(matrix.tolist())
    factor = factorization.cholesky(a)
    assert np.allclose(numbers(factor), np.linalg.cholesky(matrix))
    right = RNG.normal(size=(2, 3, n, 2))
    (b,) = doubles(right.tolist())
    lower, upper = np.linalg.cholesky(matrix), np.linalg.cholesky(matrix).swapaxes(-1, -2)
    assert np.allclose(numbers(factorization.solve_triangular(factor, b)), np.linalg.solve(lower, right))
    assert np.allclose(numbers(factorization.solve_triangular(factor.mT, b, upper=True)), np.linalg.solve(upper, right))
    assert np.allclose(numbers(factorization.cholesky_inverse(factor)), np.linalg.inv(matrix))
    precision = numbers(factorization.precision_to_scale_tril(a))
    assert np.allclose(precision @ precision.swapaxes(-1, -2), np.linalg.inv(matrix))
    assert np.allclose(np.triu(precision, 1), 0)


def test_gradients_of_factors_are_symmetric():
    """d log det A = A^-1, through the factor."""
    (a,) = doubles(positive_definite(4, 4).tolist())
    a.requires_grad_()
    log_det = 2 * factorization.log_determinant_of_factor(factorization.cholesky(a))
    (gradient,) = torch.autograd.grad(log_det, a, create_graph=True)
    inverse = np.linalg.inv(numbers(a))
    assert np.allclose(numbers(gradient), inverse)
    (second,) = torch.autograd.grad(gradient.trace(), a)
    assert np.allclose(numbers(second), -inverse @ inverse)


def test_matrices_without_a_factor():
    indefinite = torch.tensor([[1.0, 2.0], [2.0, 1.0]])
    with pytest.raises(torch.linalg.LinAlgError, match="not positive definite"):
        D.MultivariateNormal(torch.zeros(2), indefinite, validate_args=False)
    assert issubclass(torch.linalg.LinAlgError, RuntimeError)
    check = constraints.positive_definite.check
    assert check(torch.stack([indefinite, torch.eye(2)])).tolist() == [False, True]
    assert constraints.positive_semidefinite.check(torch.ones(2, 2)).item() is True
    assert check(torch.ones(2, 2)).item() is False
    assert constraints.positive_semidefinite.check(indefinite).item() is False
    assert constraints.positive_semidefinite.check(torch.zeros(2, 2)).item() is True


@pytest.mark.parametrize("given", ["covariance_matrix", "precision_matrix", "scale_tril"])
@pytest.mark.parametrize("batch", [(), (2, 3)])
def test_multivariate_normal(given, batch):
    covariance, loc, x = positive_definite(*batch, 3, 3), RNG.normal(size=(3,)), RNG.normal(size=(5, *batch, 3))
    matrix = {
        "covariance_matrix": covariance,
        "precision_matrix": np.linalg.inv(covariance),
        "scale_tril": np.linalg.cholesky(covariance),
    }[given]
    loc_, x_, matrix_ = doubles(loc.tolist(), x.tolist(), matrix.tolist())
    d = D.MultivariateNormal(loc_, **{given: matrix_})
    assert tuple(d.batch_shape) == batch and tuple(d.event_shape) == (3,)
    off = x - loc
    squared = (off * np.linalg.solve(covariance, off[..., None])[..., 0]).sum(-1)
    log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
    assert np.allclose(numbers(d.log_prob(x_)), -0.5 * (squared + log_det))
    assert np.allclose(numbers(d.entropy()), 0.5 * (log_det + 3))
    assert np.allclose(numbers(d.covariance_matrix), covariance)
    assert np.allclose(numbers(d.precision_matrix), np.linalg.inv(covariance))
    assert np.allclose(numbers(d.scale_tril), np.linalg.cholesky(covariance))
    assert np.allclose(numbers(d.variance), covariance.diagonal(axis1=-2, axis2=-1))
    wide = d.expand((4, *batch))
    assert np.allclose(numbers(wide.log_prob(x_[:1].expand((4, *batch, 3)))), numbers(d.log_prob(x_[:1])))


def test_low_rank_is_multivariate_normal():
    factor, diagonal, loc, x = (
        RNG.normal(size=(2, 4, 2)),
        RNG.uniform(0.5, 2, (2, 4)),
        RNG.normal(size=4),
        RNG.normal(size=4),
    )
    factor, diagonal, loc, x = doubles(*[v.tolist() for v in (factor, diagonal, loc, x)])
    low = D.LowRankMultivariateNormal(loc, factor, diagonal)
    full = D.MultivariateNormal(loc, factor @ factor.mT + torch.diag_embed(diagonal))
    for name in ("covariance_matrix", "precision_matrix", "scale_tril", "variance", "mean"):
        assert np.allclose(numbers(getattr(low, name)), numbers(getattr(full, name))), name
    assert np.allclose(numbers(low.log_prob(x)), numbers(full.log_prob(x)))
    assert np.allclose(numbers(low.entropy()), numbers(full.entropy()))


def test_wishart():
    """Against the formula, and the gamma distribution of a single variable."""
    (v, n, x) = doubles(1.7, 2.5, [0.3, 2.0])
    gamma = D.Gamma(n / 2, 0.5 / v)
    one = D.Wishart(n, v.reshape(1, 1))
    assert np.allclose(numbers(one.log_prob(x.reshape(2, 1, 1))), numbers(gamma.log_prob(x)))
    assert one.entropy().item() == pytest.approx(gamma.entropy().item())
    assert (one.mean.item(), one.variance.item()) == pytest.approx((gamma.mean.item(), gamma.variance.item()))
    V, X = positive_definite(3, 3), positive_definite(4, 3, 3)
    exact = (
        0.5 * np.linalg.slogdet(X)[1]  # (n - p - 1) / 2 for n = 5
        - 0.5 * np.trace(np.linalg.solve(V, X), axis1=-2, axis2=-1)
        - 0.5 * 5 * np.linalg.slogdet(2 * V)[1]
        - (1.5 * math.log(math.pi) + sum(math.lgamma(2.5 - j / 2) for j in range(3)))
    )
    V_, X_ = doubles(V.tolist(), X.tolist())
    for given in (
        {"covariance_matrix": V_},
        {"precision_matrix": V_.new_zeros(()) + torch.tensor(np.linalg.inv(V).tolist()).double()},
    ):
        d = D.Wishart(5, **given)
        assert np.allclose(numbers(d.log_prob(X_)), exact, rtol=1e-5)
    with pytest.raises(ValueError, match="above 2"):
        D.Wishart(2.0, V_)
    with pytest.warns(UserWarning, match="nearly singular"):
        D.Wishart(2.5, V_)


def test_lkj_densities():
    """Uniform over correlations of two variables for concentration 1; det(C)^(c - 1) in general."""
    r = np.array([-0.7, 0.0, 0.4])
    factor = np.zeros((3, 2, 2))
    factor[:, 0, 0], factor[:, 1, 0], factor[:, 1, 1] = 1, r, np.sqrt(1 - r**2)
    (value, c) = doubles(factor.tolist(), 2.5)
    # The density of L, of which r is the only coordinate: dr = dL.
    assert np.allclose(numbers(D.LKJCholesky(2, torch.tensor(1.0).double()).log_prob(value)), -math.log(2))
    b = 2.5
    log_beta = 2 * math.lgamma(b) - math.lgamma(2 * b)
    exact = (b - 1) * np.log((1 - r**2) / 4) - math.log(2) - log_beta
    assert np.allclose(numbers(D.LKJCholesky(2, c).log_prob(value)), exact)
    with pytest.raises(ValueError, match="at least 2"):
        D.LKJCholesky(1)


def test_dirichlet_and_categories():
    a, x = [0.5, 2.0, 3.5], [0.2, 0.3, 0.5]
    (a_, x_) = doubles(a, x)
    exact = math.lgamma(6) + sum((k - 1) * math.log(v) - math.lgamma(k) for k, v in zip(a, x))
    assert D.Dirichlet(a_).log_prob(x_).item() == pytest.approx(exact)
    assert numbers(D.Dirichlet(a_).mode).tolist() == pytest.approx([0, 1 / 3.5, 2.5 / 3.5])
    assert numbers(D.Dirichlet(a_ / 10).mode).tolist() == [0, 0, 1]
    d = D.Categorical(x_ * 4)
    assert np.allclose(np.exp(numbers(d.log_prob(torch.arange(3)))), x) and np.allclose(numbers(d.probs), x)
    assert np.allclose(numbers(D.Categorical(logits=x_.log() + 7).probs), x)
    assert d.entropy().item() == pytest.approx(-sum(v * math.log(v) for v in x))
    assert D.Categorical(torch.tensor([0.0, 1.0])).entropy().item() == pytest.approx(0, abs=1e-5)
    assert d.mode.item() == 2 and d.mean.isnan().item() and d.enumerate_support().tolist() == [0, 1, 2]
    vectors = D.OneHotCategorical(x_)
    assert np.allclose(np.exp(numbers(vectors.log_prob(vectors.enumerate_support()))), x)
    assert vectors.mode.tolist() == [0, 0, 1]
    counts = torch.tensor([1.0, 0.0, 3.0]).double()
    many = D.Multinomial(4, x_)
    assert many.log_prob(counts).item() == pytest.approx(math.log(4 * 0.2 * 0.5**3))
    every = [[i, j, 4 - i - j] for i in range(5) for j in range(5 - i)]
    logs = numbers(many.log_prob(torch.tensor(every).double()))
    assert np.exp(logs).sum() == pytest.approx(1)
    assert many.entropy().item() == pytest.approx(-(np.exp(logs) * logs).sum())


def test_straight_through_has_the_gradients_of_probabilities():
    logits = torch.tensor([0.3, 1.0, -0.5], dtype=torch.float64, requires_grad=True)
    d = D.OneHotCategoricalStraightThrough(logits=logits)
    weights = torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64)
    drawn = d.rsample()
    assert np.allclose(sorted(drawn.tolist()), [0, 0, 1])
    (got,) = torch.autograd.grad((drawn * weights).sum(), logits)
    (exact,) = torch.autograd.grad((logits.softmax(-1) * weights).sum(), logits)
    assert np.allclose(numbers(got), numbers(exact))


def test_concrete_densities_integrate_to_one():
    """Of RelaxedBernoulli, and of RelaxedOneHotCategorical with two categories, in its first coordinate."""
    x, weights = nodes(0, 1)
    values = torch.tensor(x.tolist(), dtype=torch.float64)
    for t in (0.4, 0.9, 2.0):
        temperature, p = doubles(t, [0.3, 0.7])
        density = np.exp(numbers(D.RelaxedBernoulli(temperature, p[1]).log_prob(values)))
        assert weights @ density == pytest.approx(1, abs=1e-3)
        pairs = torch.stack([values, 1 - values], -1)
        inside = (values > 1e-12) & (values < 1 - 1e-12)
        density = np.exp(numbers(D.RelaxedOneHotCategorical(temperature, p).log_prob(pairs[inside])))
        assert weights[numbers(inside)] @ density == pytest.approx(1, abs=1e-2)


def test_mixtures():
    weights, loc, scale, x = doubles([0.2, 0.8], [-1.0, 2.0], [0.5, 1.5], [0.3, 1.0, -4.0])
    d = D.MixtureSameFamily(D.Categorical(weights), D.Normal(loc, scale))
    parts = D.Normal(loc, scale)
    exact = (
        0.2 * numbers(parts.log_prob(x[:, None]).exp())[:, 0] + 0.8 * numbers(parts.log_prob(x[:, None]).exp())[:, 1]
    )
    assert np.allclose(np.exp(numbers(d.log_prob(x))), exact)
    assert np.allclose(numbers(d.cdf(x)), numbers(parts.cdf(x[:, None])) @ [0.2, 0.8])
    assert d.mean.item() == pytest.approx(1.4)
    assert d.variance.item() == pytest.approx(0.2 * (0.25 + 2.4**2) + 0.8 * (2.25 + 0.6**2))
    assert tuple(d.expand((3,)).sample((2,)).shape) == (2, 3)
    with pytest.raises(ValueError, match="Categorical"):
        D.MixtureSameFamily(parts, parts)
    with pytest.raises(ValueError, match="3 categories"):
        D.MixtureSameFamily(D.Categorical(torch.ones(3)), parts)
    vectors = D.MixtureSameFamily(D.Categorical(torch.ones(4)), D.Independent(D.Normal(torch.zeros(4, 3), 1.0), 1))
    assert tuple(vectors.event_shape) == (3,) and tuple(vectors.sample((5,)).shape) == (5, 3)
    assert vectors.log_prob(torch.zeros(3)).item() == pytest.approx(-1.5 * math.log(2 * math.pi))


def test_independent():
    loc, scale = doubles([[0.0, 1.0], [2.0, -1.0], [0.5, 0.5]], 1.5)
    base = D.Normal(loc, scale)
    d = D.Independent(base, 1)
    assert tuple(d.batch_shape) == (3,) and tuple(d.event_shape) == (2,)
    x = loc + 1
    assert np.allclose(numbers(d.log_prob(x)), numbers(base.log_prob(x).sum(-1)))
    assert np.allclose(numbers(d.entropy()), numbers(base.entropy().sum(-1)))
    assert d.support.event_dim == 1 and d.has_rsample and tuple(d.rsample((4,)).shape) == (4, 3, 2)
    assert tuple(d.expand((5, 3)).sample().shape) == (5, 3, 2)
    with pytest.raises(ValueError, match="2 batch dimensions"):
        D.Independent(base, 3)
    with pytest.raises(NotImplementedError, match="products"):
        D.Independent(D.Bernoulli(torch.tensor([0.5, 0.2])), 1).enumerate_support()


def test_transformed_shapes_and_densities():
    normal = D.Normal(torch.zeros(2, 3).double(), 1.0)
    stick = D.TransformedDistribution(normal, [D.StickBreakingTransform()])
    assert (tuple(stick.batch_shape), tuple(stick.event_shape)) == ((2,), (4,))
    assert tuple(stick.rsample((5,)).shape) == (5, 2, 4) and tuple(stick.log_prob(stick.sample()).shape) == (2,)
    wide = D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(torch.zeros(3), 1.0))
    assert tuple(wide.batch_shape) == (3,) and tuple(wide.sample().shape) == (3,)
    reshaped = D.TransformedDistribution(D.Independent(normal, 1), D.ReshapeTransform((3,), (3, 1)))
    assert tuple(reshaped.event_shape) == (3, 1)
    falling = D.TransformedDistribution(D.Normal(0.0, 1.0), D.AffineTransform(0.0, -2.0))
    x = torch.tensor([-1.0, 0.5])
    assert np.allclose(numbers(falling.cdf(x)), numbers(D.Normal(0.0, 2.0).cdf(x)), atol=1e-6)
    assert np.allclose(numbers(falling.icdf(falling.cdf(x))), numbers(x), atol=1e-5)
    lognormal = D.TransformedDistribution(D.Normal(0.3, 1.2), D.ExpTransform())
    assert np.allclose(numbers(lognormal.log_prob(x.abs())), numbers(D.LogNormal(0.3, 1.2).log_prob(x.abs())))
    for wrong in (3, [3]):
        with pytest.raises(ValueError, match="transforms"):
            D.TransformedDistribution(D.Normal(0.0, 1.0), wrong)
    with pytest.raises(ValueError, match="events of 1 dim"):
        D.TransformedDistribution(D.Normal(0.0, 1.0), D.StickBreakingTransform())
