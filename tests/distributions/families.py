"""Distributions with parameters, and integrals over their densities, for the tests of this folder."""

import numpy as np

import minidynamo as torch
import minidynamo.distributions as D


def doubles(*values):
    return [torch.tensor(value, dtype=torch.float64) for value in values]


A, B, C = [0.7, 1.6, 4.0], [0.4, 1.3, 2.5], [-1.5, 0.3, 2.0]
P, L = [0.08, 0.5, 0.83], [-2.0, 0.1, 1.5]

# name: (class, parameters, lower end, upper end) of one variable with a density. None: infinite.
CONTINUOUS = {
    "Normal": (D.Normal, (C, B), None, None),
    "LogNormal": (D.LogNormal, (C, [0.4, 0.6, 0.3]), 0, None),
    "Laplace": (D.Laplace, (C, B), None, None),
    "Cauchy": (D.Cauchy, (C, B), None, None),
    "Gumbel": (D.Gumbel, (C, B), None, None),
    "StudentT": (D.StudentT, ([3.5, 5.0, 9.0], C, B), None, None),
    "Uniform": (D.Uniform, (C, [-1.0, 2.5, 2.4]), "low", "high"),
    "Exponential": (D.Exponential, (A,), 0, None),
    "Gamma": (D.Gamma, (A, B), 0, None),
    "Chi2": (D.Chi2, ([0.9, 2.0, 7.5],), 0, None),
    "InverseGamma": (D.InverseGamma, ([3.5, 5.0, 9.0], B), 0, None),
    "FisherSnedecor": (D.FisherSnedecor, ([1.5, 3.0, 8.0], [9.5, 11.0, 20.0]), 0, None),
    "Weibull": (D.Weibull, (B, A), 0, None),
    "Pareto": (D.Pareto, (B, [3.5, 5.0, 9.0]), "scale", None),
    "GeneralizedPareto": (D.GeneralizedPareto, (C, B, [0.2, 0.0, -0.3]), "loc", "end"),
    "HalfNormal": (D.HalfNormal, (B,), 0, None),
    "HalfCauchy": (D.HalfCauchy, (B,), 0, None),
    "Beta": (D.Beta, (A, [0.6, 3.0, 2.2]), 0, 1),
    "Kumaraswamy": (D.Kumaraswamy, (A, [0.6, 3.0, 2.2]), 0, 1),
    "ContinuousBernoulli": (D.ContinuousBernoulli, ([0.08, 0.4, 0.83],), 0, 1),
    "VonMises": (D.VonMises, (C, B), -np.pi, np.pi),
}
# name: (function that makes one, parameters, values to sum over)
DISCRETE = {
    "Bernoulli": (D.Bernoulli, (P,), range(2)),
    "Bernoulli of logits": (lambda x: D.Bernoulli(logits=x), (L,), range(2)),
    "Binomial": (lambda p: D.Binomial(7, p), (P,), range(8)),
    "Binomial of logits": (lambda x: D.Binomial(7, logits=x), (L,), range(8)),
    "Geometric": (D.Geometric, ([0.3, 0.5, 0.83],), range(200)),
    "NegativeBinomial": (D.NegativeBinomial, (A, P), range(500)),
    "NegativeBinomial of logits": (lambda n, x: D.NegativeBinomial(n, logits=x), (A, L), range(600)),
    "Poisson": (D.Poisson, ([0.3, 2.0, 12.5],), range(120)),
}
HEAVY_TAILS = {"Cauchy", "HalfCauchy"}  # without a mean


def make(name, requires_grad=False):
    kind, parameters, *_ = (CONTINUOUS | DISCRETE)[name]
    parameters = doubles(*parameters)
    for parameter in parameters:
        parameter.requires_grad_(requires_grad)
    return kind(*parameters), parameters


def ends(name, d, i):
    """The ends of the support of distribution i of the batch."""
    low, high = CONTINUOUS[name][2:]
    if high == "end":
        high = d.support.upper_bound[i].item()
        high = None if high == np.inf else high
    low = getattr(d, low)[i].item() if isinstance(low, str) else low
    high = getattr(d, high)[i].item() if isinstance(high, str) else high
    return low, high


def nodes(low, high, count=4001):
    """(x, weights) of the trapezoidal rule after a double exponential change of variable (Takahasi and Mori, 1974)."""
    t = np.linspace(-4.5, 4.5, count)
    s, ds = np.pi / 2 * np.sinh(t), np.pi / 2 * np.cosh(t)
    if low is None:
        x, dx = np.sinh(s), np.cosh(s)
    elif high is None:
        x, dx = low + np.exp(s), np.exp(s)
    else:  # distances from the nearer end, which do not cancel
        near = 1 / (1 + np.exp(2 * np.abs(s)))
        x = np.where(s < 0, low + (high - low) * near, high - (high - low) * near)
        dx = 2 * (high - low) * near * (1 - near)
    weights = dx * ds * (t[1] - t[0])
    keep = np.isfinite(x) & np.isfinite(weights) & (weights > 1e-290)
    if low is not None:
        keep &= x > low
    if high is not None:
        keep &= x < high
    return x[keep], weights[keep]


def integration(name, d, i):
    """(x, weights, density) of distribution i of the batch `d`."""
    x, weights = nodes(*ends(name, d, i))
    kind, parameters, *_ = CONTINUOUS[name]
    single = kind(*doubles(*[parameter[i] for parameter in parameters]))
    density = np.exp(np.array(single.log_prob(torch.tensor(x.tolist(), dtype=torch.float64)).tolist()))
    return x, weights, np.where(np.isfinite(density), density, 0)
