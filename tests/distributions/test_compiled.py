"""Distributions inside compiled functions: the values and gradients of plain ones."""

import pytest

import minidynamo as torch
import minidynamo.distributions as D

N = 5


def reals(*shape):
    return torch.randn(shape).requires_grad_()


def positive(*shape):
    return (torch.rand(shape) + 0.5).requires_grad_()


def density(kind, **fixed):
    return lambda *args: kind(*args[:-1], **fixed).log_prob(args[-1]).sum()


def draw(kind, **fixed):
    return lambda *args: kind(*args, **fixed).rsample((3,)).square().sum()


def policy(loc, scale):
    """As in actor-critic programs: a squashed normal action and its log-probability."""
    transforms = [D.TanhTransform(cache_size=1), D.AffineTransform(0.0, 2.0, cache_size=1)]
    d = D.Independent(D.TransformedDistribution(D.Normal(loc, scale), transforms), 1)
    action = d.rsample()
    return (d.log_prob(action) + action.sum(-1)).sum()


def reinforce(logits):
    d = D.Categorical(logits=logits)
    action = d.sample()
    return (d.log_prob(action) * (action + 1)).sum() + 0.1 * d.entropy().sum()


def autoencoder(loc, log_scale, target):
    q = D.Normal(loc, log_scale.exp())
    prior = D.Normal(torch.zeros_like(loc), torch.ones_like(loc))
    return D.kl_divergence(q, prior).sum() - D.Bernoulli(logits=q.rsample()).log_prob(target).sum()


CASES = {
    "normal": (density(D.Normal), lambda: (reals(N), positive(N), torch.randn(N))),
    "normal draws": (draw(D.Normal), lambda: (reals(N), positive(N))),
    "squashed policy": (policy, lambda: (reals(N, 3), positive(N, 3))),
    "reinforce": (reinforce, lambda: (reals(N, 4),)),
    "autoencoder": (autoencoder, lambda: (reals(N), reals(N), torch.ones(N))),
    "covariance": (
        lambda a, m, x: D.MultivariateNormal(a, m @ m.mT + torch.eye(3)).log_prob(x).sum(),
        lambda: (reals(N, 3), positive(N, 3, 3), torch.randn(N, 3)),
    ),
    "vectors": (
        lambda a, s: D.MultivariateNormal(a, torch.diag_embed(s)).rsample().square().sum(),
        lambda: (reals(N, 3), positive(N, 3)),
    ),
    "divergence of vectors": (
        lambda a, s: D.kl_divergence(
            D.MultivariateNormal(a, torch.diag_embed(s)), D.MultivariateNormal(torch.zeros(3), torch.eye(3))
        ).sum(),
        lambda: (reals(N, 3), positive(N, 3)),
    ),
    "beta": (density(D.Beta), lambda: (positive(N), positive(N), torch.rand(N))),
    "beta draws": (draw(D.Beta), lambda: (positive(N), positive(N))),
    "gamma draws": (draw(D.Gamma), lambda: (positive(N), positive(N))),
    "dirichlet draws": (draw(D.Dirichlet), lambda: (positive(N, 3),)),
    "relaxed": (
        lambda x: D.RelaxedOneHotCategorical(torch.tensor(0.5), logits=x).rsample().square().sum(),
        lambda: (reals(N, 4),),
    ),
    "straight through": (
        lambda x: (D.OneHotCategoricalStraightThrough(logits=x).rsample() * torch.arange(4.0)).sum(),
        lambda: (reals(N, 4),),
    ),
    "mixture": (
        lambda w, a, s, x: D.MixtureSameFamily(D.Categorical(logits=w), D.Normal(a, s)).log_prob(x).sum(),
        lambda: (reals(N, 4), reals(N, 4), positive(N, 4), torch.randn(N)),
    ),
    "poisson": (
        lambda r, x: D.Poisson(r).log_prob(D.Poisson(r).sample() + x).sum(),
        lambda: (positive(N), torch.ones(N)),
    ),
    "student": (density(D.StudentT), lambda: (positive(N), reals(N), positive(N), torch.randn(N))),
    "expanded": (
        lambda a, s: D.Normal(a, s).expand((3, N)).log_prob(torch.zeros(N)).sum(),
        lambda: (reals(N), positive(N)),
    ),
    "checked": (density(D.Normal, validate_args=True), lambda: (reals(N), positive(N), torch.randn(N))),
    "simplex": (lambda x: D.biject_to(D.constraints.simplex)(x).square().sum(), lambda: (reals(N),)),
}


@pytest.mark.parametrize("name", CASES)
def test_as_plain(name):
    function, arguments = CASES[name]
    torch.manual_seed(1)
    arguments = arguments()
    leaves = [a for a in arguments if a.requires_grad]

    def run(function):
        torch.manual_seed(2)
        result = function(*arguments)
        return result, torch.autograd.grad(result, leaves)

    compiled = torch.compile(function)
    plain, gradients = run(function)
    for _ in range(2):
        result, own = run(compiled)
        assert torch.allclose(result, plain, rtol=1e-5, atol=1e-5)
        for a, b in zip(own, gradients):
            assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)


def test_checks_that_were_asked_for_are_made():
    compiled = torch.compile(lambda s: D.Normal(0.0, s, validate_args=True).mean)
    with pytest.raises(ValueError, match="scale"):
        compiled(torch.tensor([-1.0]))


def test_a_distribution_made_outside():
    d = D.Normal(torch.zeros(3), torch.ones(3))
    compiled = torch.compile(lambda x: d.log_prob(x).sum())
    x = torch.ones(3, requires_grad=True)
    assert torch.autograd.grad(compiled(x), x)[0].tolist() == [-1, -1, -1]
