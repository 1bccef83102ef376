"""Kullback-Leibler divergences: against integrals and sums, and how they are found."""

import itertools

import numpy as np
import pytest

import minidynamo as torch
import minidynamo.distributions as D
from distributions.families import CONTINUOUS, DISCRETE, doubles, integration, make
from minidynamo.distributions import constraints

LOOSE = {"Beta": 1e-3, "Laplace": 1e-4}
OTHER = {  # other parameters, so that p is not q
    "Normal": ([0.0, 1.0, -2.0], [1.0, 0.3, 2.0]),
    "Laplace": ([0.0, 1.0, -2.0], [1.0, 0.3, 2.0]),
    "Cauchy": ([0.0, 1.0, -2.0], [1.0, 0.3, 2.0]),
    "Gumbel": ([0.0, 1.0, -2.0], [1.0, 1.3, 2.0]),
    "Uniform": ([-3.0, 0.1, 1.0], [0.0, 2.5, 4.0]),
    "Exponential": ([0.4, 1.0, 3.0],),
    "Gamma": ([0.5, 2.0, 2.5], [1.0, 0.7, 2.0]),
    "HalfNormal": ([0.5, 2.0, 2.5],),
    "Pareto": ([0.2, 1.0, 2.5], [3.0, 1.0, 2.0]),
    "Beta": ([1.2, 0.8, 3.0], [0.9, 2.0, 4.0]),
    "ContinuousBernoulli": ([0.3, 0.9, 0.6],),
    "LogNormal": ([0.0, 1.0, -2.0], [1.0, 0.3, 2.0]),
}


def numbers(tensor):
    return np.array(tensor.tolist())


def registered(p, q):
    return (CONTINUOUS[p][0], CONTINUOUS[q][0]) in D.kl._KL_REGISTRY or p == q


PAIRS = [(p, q) for p, q in itertools.product(OTHER, OTHER) if registered(p, q)]


def test_there_are_many_pairs():
    assert len(PAIRS) > 60


@pytest.mark.parametrize("p_name, q_name", PAIRS)
def test_divergences_are_integrals(p_name, q_name):
    p, _ = make(p_name)
    kind = CONTINUOUS[q_name][0]
    q = kind(*doubles(*OTHER[q_name]), validate_args=False)
    got = D.kl_divergence(p, q)
    assert got.shape == (3,) and got.dtype == torch.float64
    for i in range(3):
        x, weights, density = integration(p_name, p, i)
        values = torch.tensor(x.tolist(), dtype=torch.float64).unsqueeze(-1)
        with np.errstate(all="ignore"):
            log_q = numbers(q.log_prob(values))[:, i]
            outside = density * weights > 1e-9
            if not bool(q.support.check(values.expand(values.shape[0], 3))[:, i][torch.tensor(outside.tolist())].all()):
                assert got[i].item() == np.inf
                continue
            inside = density > 0
            terms = (weights * density * (np.log(density, where=inside, out=np.zeros_like(density)) - log_q))[inside]
        exact = terms[np.isfinite(terms)].sum()
        tolerance = LOOSE.get(p_name, 1e-5)
        assert got[i].item() == pytest.approx(exact, rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("name, other", [
    ("Bernoulli", ([0.3, 0.5, 0.9],)),
    ("Bernoulli of logits", ([1.0, 0.0, -1.0],)),
    ("Binomial", ([0.3, 0.5, 0.9],)),
    ("Geometric", ([0.5, 0.2, 0.6],)),
    ("Poisson", ([1.0, 1.0, 20.0],)),
])  # fmt: skip
def test_divergences_are_sums(name, other):
    p, _ = make(name)
    q = DISCRETE[name][0](*doubles(*other))
    values = torch.tensor(list(DISCRETE[name][2]), dtype=torch.float64).unsqueeze(-1)
    log_p, log_q = numbers(p.log_prob(values)), numbers(q.log_prob(values))
    assert np.allclose(numbers(D.kl_divergence(p, q)), (np.exp(log_p) * (log_p - log_q)).sum(0))
    assert np.allclose(numbers(D.kl_divergence(p, p)), 0)


def test_divergences_of_categories():
    p, q = doubles([[0.2, 0.8, 0.0], [0.1, 0.4, 0.5]], [[0.5, 0.2, 0.3], [0.5, 0.5, 0.0]])
    exact = [0.2 * np.log(0.4) + 0.8 * np.log(4.0), np.inf]
    for kind in (D.Categorical, D.OneHotCategorical):
        assert np.allclose(numbers(D.kl_divergence(kind(p), kind(q))), exact)
    bernoulli = D.Bernoulli(torch.tensor([0.0, 1.0, 0.5]).double())
    assert np.allclose(
        numbers(D.kl_divergence(bernoulli, D.Bernoulli(torch.tensor(0.5).double()))), [np.log(2), np.log(2), 0]
    )
    rate = torch.tensor(2.0).double()
    assert D.kl_divergence(D.Poisson(rate), D.Bernoulli(rate / 4)).item() == np.inf
    p = torch.tensor(0.3).double()
    exact = 0.3 * np.log(0.3) + 0.7 * np.log(0.7) + 2 - 0.3 * np.log(2)
    assert D.kl_divergence(D.Bernoulli(p), D.Poisson(rate)).item() == pytest.approx(exact)


def covariances():
    rng = np.random.default_rng(5)
    factor, diagonal = rng.normal(size=(2, 2, 4, 2)), rng.uniform(0.5, 2, size=(2, 2, 4))
    return factor, diagonal, rng.normal(size=(2, 2, 4))


@pytest.mark.parametrize("p_low", [True, False])
@pytest.mark.parametrize("q_low", [True, False])
def test_normal_vectors(p_low, q_low):
    (p_factor, q_factor), (p_diagonal, q_diagonal), (p_loc, q_loc) = covariances()

    def build(low, loc, factor, diagonal):
        loc, factor, diagonal = doubles(loc.tolist(), factor.tolist(), diagonal.tolist())
        if low:
            return D.LowRankMultivariateNormal(loc, factor, diagonal)
        return D.MultivariateNormal(loc, factor @ factor.mT + torch.diag_embed(diagonal))

    got = D.kl_divergence(build(p_low, p_loc, p_factor, p_diagonal), build(q_low, q_loc, q_factor, q_diagonal))
    for i in range(2):
        P = p_factor[i] @ p_factor[i].T + np.diag(p_diagonal[i])
        Q = q_factor[i] @ q_factor[i].T + np.diag(q_diagonal[i])
        off = q_loc[i] - p_loc[i]
        logs = np.linalg.slogdet(Q)[1] - np.linalg.slogdet(P)[1]
        exact = 0.5 * (np.trace(np.linalg.solve(Q, P)) + off @ np.linalg.solve(Q, off) - 4 + logs)
        assert got[i].item() == pytest.approx(exact)


def test_dirichlet_is_beta_for_two_shares():
    a, b = doubles([1.5, 0.7], [0.4, 3.0])
    exact = D.kl_divergence(D.Beta(a[0], a[1]), D.Beta(b[0], b[1]))
    assert D.kl_divergence(D.Dirichlet(a), D.Dirichlet(b)).item() == pytest.approx(exact.item())


def test_wishart_of_one_variable_is_gamma():
    (v, w, n, m) = doubles(1.7, 0.6, 2.5, 4.0)
    p, q = D.Wishart(n, v.reshape(1, 1)), D.Wishart(m, w.reshape(1, 1))
    exact = D.kl_divergence(D.Gamma(n / 2, 0.5 / v), D.Gamma(m / 2, 0.5 / w))
    assert D.kl_divergence(p, q).item() == pytest.approx(exact.item())


def test_independent_and_transformed():
    p, q = D.Normal(*doubles([0.0, 1.0, 2.0], [1.0, 2.0, 3.0])), D.Normal(*doubles([1.0, 1.0, 0.0], [2.0, 2.0, 1.0]))
    plain = D.kl_divergence(p, q)
    whole = D.kl_divergence(D.Independent(p, 1), D.Independent(q, 1))
    assert whole.item() == pytest.approx(plain.sum().item())
    tanh = [D.TanhTransform()]
    through = D.kl_divergence(D.TransformedDistribution(p, tanh), D.TransformedDistribution(q, tanh))
    assert np.allclose(numbers(through), numbers(plain))
    with pytest.raises(NotImplementedError, match="same transforms"):
        D.kl_divergence(D.TransformedDistribution(p, tanh), D.TransformedDistribution(q, [D.ExpTransform()]))
    with pytest.raises(NotImplementedError, match="reinterpreted_batch_ndims"):
        D.kl_divergence(D.Independent(p, 1), D.Independent(q, 0))


@pytest.mark.parametrize("kind", [D.Normal, D.Gamma, D.Beta, D.Laplace, D.Gumbel])
def test_gradients_flow_to_both(kind):
    given = [0.5, 1.5, 0.9, 0.7]

    def divergence(values):
        return D.kl_divergence(kind(*values[:2]), kind(*values[2:]))

    parameters = [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in given]
    gradients = torch.autograd.grad(divergence(parameters), parameters)
    for i, gradient in enumerate(gradients):
        above, below = [doubles(*[v + step * (k == i) for k, v in enumerate(given)]) for step in (1e-6, -1e-6)]
        slope = (divergence(above) - divergence(below)).item() / 2e-6
        assert gradient.item() == pytest.approx(slope, rel=1e-6)


def test_what_is_not_there():
    with pytest.raises(NotImplementedError, match="Normal and Poisson"):
        D.kl_divergence(D.Normal(0.0, 1.0), D.Poisson(1.0))
    with pytest.raises(NotImplementedError, match="StudentT"):
        D.kl_divergence(D.StudentT(3.0), D.Cauchy(0.0, 1.0))
    with pytest.raises(NotImplementedError, match="total_count"):
        D.kl_divergence(D.Binomial(2, torch.tensor(0.5)), D.Binomial(3, torch.tensor(0.5)))
    with pytest.raises(ValueError, match="same size"):
        D.kl_divergence(
            D.MultivariateNormal(torch.zeros(2), torch.eye(2)), D.MultivariateNormal(torch.zeros(3), torch.eye(3))
        )
    with pytest.raises(TypeError, match="subclasses of Distribution"):
        D.register_kl(3, D.Normal)


def test_registered_for_subclasses_and_ambiguous():
    class Mine(D.Normal):
        pass

    class Special(Mine):
        pass

    class Family(D.ExponentialFamily):
        """A family of its own: Exponential's, with all else from the log-normalizer."""

        arg_constraints = {"rate": constraints.positive}
        _mean_carrier_measure = 0

        def __init__(self, rate):
            self.rate = rate
            super().__init__(rate.shape)

        @property
        def _natural_params(self):
            return (-self.rate,)

        def _log_normalizer(self, x):
            return -(-x).log()

    mine, other = Mine(0.0, 1.0), D.Normal(1.0, 2.0)
    assert D.kl_divergence(mine, other).item() == D.kl_divergence(D.Normal(0.0, 1.0), other).item()
    D.register_kl(Mine, D.Normal)(lambda p, q: "first")
    assert D.kl_divergence(mine, other) == "first" and D.kl_divergence(Special(0.0, 1.0), mine) == "first"
    D.register_kl(D.Normal, Mine)(lambda p, q: "second")
    with pytest.warns(RuntimeWarning, match="ambiguous"):
        assert D.kl_divergence(mine, Mine(0.0, 1.0)) == "first"
    p, q = torch.tensor([0.5, 2.0], dtype=torch.float64), torch.tensor([1.5, 0.3], dtype=torch.float64)
    exact = D.kl_divergence(D.Exponential(p), D.Exponential(q))
    assert np.allclose(numbers(D.kl_divergence(Family(p), Family(q))), numbers(exact))
    assert np.allclose(numbers(Family(p).entropy()), numbers(D.Exponential(p).entropy()))
