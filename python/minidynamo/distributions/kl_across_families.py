"""Kullback-Leibler divergences across families, as cross entropy minus entropy.

-E[log q(x)] for x from p needs few facts about p: its mean and variance, E[log x], E[e^(-t x)]. Functions are
registered, and called by kl_divergence(p, q).
"""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from .bernoulli import Bernoulli
from .beta import Beta
from .binomial import Binomial
from .continuous_bernoulli import ContinuousBernoulli
from .exponential import Exponential
from .gamma import Gamma
from .gumbel import Gumbel
from .kl_registry import register_kl
from .kl_same_family import infinite_where
from .laplace import Laplace
from .normal import Normal
from .pareto import Pareto
from .poisson import Poisson
from .uniform import Uniform
from .utils import euler_constant


def _register_pairs(kinds, target):
    def register(function):
        for kind in kinds:
            register_kl(kind, target)(function)
        return function

    return register


def _outside(p, low=None, high=None, moment=1):
    """Where a Uniform p leaves [low, high], or the given moment of a Pareto p is infinite; False for other p."""
    if isinstance(p, Pareto):
        return p.alpha <= moment
    if not isinstance(p, Uniform):
        return _C.zeros((), dtype=_C.bool, device=_a_tensor_of(p).device)
    outside = _C.zeros_like(p.low, dtype=_C.bool)
    if low is not None:
        outside = outside | (p.low < low)
    return outside if high is None else outside | (p.high > high)


def _mean_x_log_x(low, high):
    """Mean of log x over [low, high]: the difference of x log x over the width, minus 1."""
    return (_C.xlogy(high, high) - _C.xlogy(low, low)) / (high - low) - 1


def _mean_and_square(p):
    """E[x] and E[x^2]; for Pareto, what they would be for an alpha of 3 where they are infinite."""
    if isinstance(p, Pareto):
        a = p.alpha.masked_fill(p.alpha <= 2, 3.0)
        return a * p.scale / (a - 1), a * p.scale.square() / (a - 2)
    return p.mean, p.variance + p.mean.square()


def _mean(p):
    """E[x]; for Pareto, what it would be for an alpha of 3 where it is infinite."""
    if isinstance(p, Pareto):
        a = p.alpha.masked_fill(p.alpha <= 1, 3.0)
        return a * p.scale / (a - 1)
    return p.mean


def _mean_log(p):
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -euler_constant - p.rate.log()
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _mean_x_log_x(p.low, p.high)


def _mean_exp(p, t):
    """E[e^(-t x)]."""
    if isinstance(p, Exponential):
        return p.rate / (p.rate + t)
    if isinstance(p, Gamma):
        return (1 + t / p.rate).pow(-p.concentration)
    if isinstance(p, Normal):
        return (-t * p.loc + 0.5 * (t * p.scale).square()).exp()
    return ((-t * p.low).exp() - (-t * p.high).exp()) / (t * (p.high - p.low))


@_register_pairs((Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), Normal)
def _kl_to_normal(p, q):
    mean, square = _mean_and_square(p)
    squared = (square - 2 * q.loc * mean + q.loc.square()) / q.scale.square()
    result = 0.5 * (math.log(2 * math.pi) + squared) + q.scale.log() - p.entropy()
    return infinite_where(_outside(p, moment=2), result)


@_register_pairs((Beta, ContinuousBernoulli, Gamma, Pareto, Uniform), Exponential)
def _kl_to_exponential(p, q):
    return infinite_where(_outside(p, low=0), q.rate * _mean(p) - q.rate.log() - p.entropy())


@_register_pairs((Beta, Exponential, Pareto, Uniform), Gamma)
def _kl_to_gamma(p, q):
    a = q.concentration
    result = a.lgamma() - a * q.rate.log() - (a - 1) * _mean_log(p) + q.rate * _mean(p) - p.entropy()
    return infinite_where(_outside(p, low=0), result)


@_register_pairs((Exponential, Gamma, Normal, Uniform), Gumbel)
def _kl_to_gumbel(p, q):
    inverse = q.scale.reciprocal()
    tail = (q.loc * inverse).exp() * _mean_exp(p, inverse)
    return q.scale.log() + (p.mean - q.loc) * inverse + tail - p.entropy()


@_register_pairs((Beta, Uniform), ContinuousBernoulli)
def _kl_to_continuous_bernoulli(p, q):
    result = -p.mean * q.logits - (-q.probs).log1p() - q._cont_bern_log_norm() - p.entropy()
    return infinite_where(_outside(p, 0, 1), result)


@_register_pairs((Beta, ContinuousBernoulli), Uniform)
def _kl_to_uniform(p, q):
    return infinite_where((q.low > 0) | (q.high < 1), (q.high - q.low).log() - p.entropy())


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return q.rate - p.probs * q.rate.log() - p.entropy()


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    """E|x - m| of a normal x is its own: that of a folded normal distribution."""
    off = p.loc - q.loc
    folded = math.sqrt(2 / math.pi) * p.scale * (-0.5 * (off / p.scale).square()).exp()
    folded = folded + off * _C.erf(off / p.scale * math.sqrt(0.5))
    return (2 * q.scale).log() + folded / q.scale - p.entropy()


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    a, b = q.concentration1, q.concentration0
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    logs = (a - 1) * _mean_x_log_x(p.low, p.high) + (b - 1) * _mean_x_log_x(1 - p.high, 1 - p.low)
    return infinite_where(_outside(p, 0, 1), normalizer - logs - p.entropy())


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    logs = (q.alpha + 1) * _mean_x_log_x(p.low, p.high)
    return infinite_where(p.low < q.scale, logs - q.alpha.log() - q.alpha * q.scale.log() - p.entropy())


_INFINITE = {  # {q: families of p with draws where q has density 0}
    Pareto: (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Normal),
    Beta: (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto),
    ContinuousBernoulli: (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto),
    Uniform: (Exponential, Gamma, Gumbel, Laplace, Normal, Pareto),
    Exponential: (Gumbel, Laplace, Normal),
    Gamma: (Gumbel, Laplace, Normal),
    Bernoulli: (Poisson,),
    Binomial: (Poisson,),
}


def _kl_infinity(p, q):
    """p has draws outside of q's support."""
    like = _a_tensor_of(p)
    return _C.full(p.batch_shape, float("inf"), dtype=like.dtype, device=like.device)


def _a_tensor_of(p):
    values = [value for value in p.__dict__.values() if isinstance(value, _C.Tensor)]
    return values[0] if values else p.mean


for _target, _kinds in _INFINITE.items():
    _register_pairs(_kinds, _target)(_kl_infinity)

__getattr__ = _absent_names(__name__)
