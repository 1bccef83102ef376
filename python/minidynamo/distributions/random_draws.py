"""Draws by rejection, vectorised: standard gamma, Dirichlet, Poisson and binomial variates of float64 arithmetic.

They need loops that end when all draws are accepted, so each is one call of a graph.
"""

import functools

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo import marked_callables as _marked
from .._limits import finfo
from ..autograd.function import Function, once_differentiable
from ..autograd.grad_mode import no_grad
from .implicit_gradients import dirichlet_gradient, gamma_gradient


def _kept_whole(draw):
    """In a graph one call. Where only shapes are known the last argument stands for what is drawn."""

    @functools.wraps(draw)
    def whole(*parameters):
        try:
            return draw(*parameters)
        except (_marked.DataDependentValue, _marked.DynamicShape, _marked.DynamicShapeWithoutRule):
            return _C.broadcast_tensors(*parameters)[-1].clone()

    return _C._mark_callable(whole, "allow_in_graph") or whole


def _rejection(propose, *parameters):
    """Repeats propose(*parameters), a pair (values, whether accepted), until all are accepted. 1-d float64 tensors."""
    result = _C.zeros_like(parameters[0])
    pending = _C.arange(result.numel(), device=result.device)
    while pending.numel():
        values, accepted = propose(*[parameter[pending] for parameter in parameters])
        result[pending[accepted]] = values[accepted]
        pending = pending[~accepted]
    return result


def _uniform(like):
    """In (0, 1): neither end, so that logarithms are finite."""
    return _C.rand(like.shape, dtype=_C.float64, device=like.device).clamp(min=2.0**-54)


def _propose_gamma(a):
    d = a - 1 / 3
    c = 1 / (9 * d).sqrt()
    x = _C.randn(a.shape, dtype=_C.float64, device=a.device)
    v = (1 + c * x).pow(3)
    bound = 0.5 * x.square() + d - d * v + d * v.clamp(min=1e-300).log()
    return d * v, (v > 0) & (_uniform(a).log() < bound)


def _draw_log_gamma(concentration):
    """Logarithms of Gamma(concentration, 1) draws, 1-d float64 (Marsaglia and Tsang, "A simple method for generating
    gamma variables", 2000; below 1, from one more, times u^(1 / concentration))."""
    small = concentration < 1
    drawn = _rejection(_propose_gamma, _C.where(small, concentration + 1, concentration))
    boost = _uniform(concentration).log() / concentration.clamp(min=1e-300)
    return drawn.log() + _C.where(small, boost, _C.zeros_like(boost))


class _StandardGamma(Function):
    @staticmethod
    def forward(ctx, concentration):
        flat = concentration.detach().to(_C.float64).reshape(-1)
        drawn = _draw_log_gamma(flat).exp().reshape(concentration.shape).to(concentration.dtype)
        ctx.save_for_backward(drawn.clone(), concentration)
        return drawn

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        sample, concentration = ctx.saved_tensors
        return grad * gamma_gradient(sample, concentration)


class _Dirichlet(Function):
    @staticmethod
    def forward(ctx, concentration):
        flat = concentration.detach().to(_C.float64).reshape(-1)
        logs = _draw_log_gamma(flat).reshape(concentration.shape)
        drawn = _C.softmax(logs, -1).to(concentration.dtype)  # normalised before small ones can vanish
        ctx.save_for_backward(drawn.clone(), concentration)
        return drawn

    @staticmethod
    @once_differentiable
    def backward(ctx, grad):
        """Coordinate i moves as a Beta variate; the others keep their proportions and fill the rest."""
        sample, concentration = ctx.saved_tensors
        total = concentration.sum(-1, True).expand(concentration.shape)
        moved = dirichlet_gradient(sample, concentration, total)
        return moved * (grad - (sample * grad).sum(-1, True))


@_kept_whole
def standard_gamma(concentration):
    """Draws of Gamma(concentration, 1), of its shape and dtype, with gradients to it."""
    return _StandardGamma.apply(concentration)


@_kept_whole
def dirichlet(concentration):
    """Draws of Dirichlet distributions over the last dimension, with gradients to `concentration`."""
    return _Dirichlet.apply(concentration)


def _by_size(parameters, is_small, draw_small, draw_large):
    result = _C.zeros_like(parameters[0])
    for where, draw in ((is_small, draw_small), (~is_small, draw_large)):
        if where.any():
            result[where] = draw(*[parameter[where] for parameter in parameters])
    return result


def _invert(none, ratio):
    """Draws k with probabilities p(0) = none, p(k) = p(k - 1) ratio(k), by inversion; p has to be negligible at 200."""
    left = _C.rand(none.shape, dtype=_C.float64, device=none.device) - none
    drawn, p = _C.zeros_like(none), none
    for k in range(1, 200):
        more = left >= 0
        if not more.any():
            break
        drawn = drawn + more
        p = p * ratio(k)
        left = left - p
    return drawn


def _draw_small_poisson(rate):
    return _invert((-rate).exp(), lambda k: rate / k)


def _propose_poisson(rate):
    b = 0.931 + 2.53 * rate.sqrt()
    a = -0.059 + 0.02483 * b
    u, v = _uniform(rate) - 0.5, _uniform(rate)
    room = 0.5 - u.abs()
    k = ((2 * a / room + b) * u + rate + 0.43).floor()
    quick = (room >= 0.07) & (v <= 0.9277 - 3.6224 / (b - 2))
    left = v.log() + (1.1239 + 1.1328 / (b - 3.4)).log() - (a / room.square() + b).log()
    kept = k.clamp(min=0)
    slow = (k >= 0) & ~((room < 0.013) & (v > room)) & (left <= kept * rate.log() - rate - (kept + 1).lgamma())
    return k, quick | slow


@_kept_whole
def poisson(rate):
    """Poisson draws, of the shape and dtype of `rate` (Hörmann, "The transformed rejection method for generating
    Poisson random variables", 1993; for rates below 10 by inversion)."""
    with no_grad():
        flat = rate.to(_C.float64).reshape(-1)

        def draw_large(large):
            return _rejection(_propose_poisson, large)

        drawn = _by_size((flat,), flat < 10, _draw_small_poisson, draw_large)
        return drawn.reshape(rate.shape).to(rate.dtype)


def _draw_small_binomial(n, p):
    odds = p / (1 - p)
    return _invert((n * (-p).log1p()).exp(), lambda k: (n + 1 - k).clamp(min=0) / k * odds).minimum(n)


def _propose_binomial(n, p):
    spread = (n * p * (1 - p)).sqrt()
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    u, v = _uniform(n) - 0.5, _uniform(n)
    room = 0.5 - u.abs()
    k = ((2 * a / room + b) * u + n * p + 0.5).floor()
    quick = (room >= 0.07) & (v <= 0.92 - 4.2 / b)
    inside = (k >= 0) & (k <= n)
    kept = k.clamp(min=0).minimum(n)
    mode = ((n + 1) * p).floor()
    top = (mode + 1).lgamma() + (n - mode + 1).lgamma() - (kept + 1).lgamma() - (n - kept + 1).lgamma()
    bound = top + (kept - mode) * (p.log() - (-p).log1p())
    left = (v * (2.83 + 5.1 / b) * spread / (a / room.square() + b)).log()
    return k, inside & (quick | (left <= bound))


@_kept_whole
def binomial(count, probs):
    """Binomial draws, of the broadcast shape and the dtype of `probs` (Hörmann, "The generation of binomial random
    variates", 1993; for means below 10 by inversion)."""
    with no_grad():
        count, probs = _C.broadcast_tensors(count, probs)
        n = count.to(_C.float64).reshape(-1)
        p = probs.to(_C.float64).reshape(-1)
        rare = _C.minimum(p, 1 - p)

        def draw_large(n, p):
            return _rejection(_propose_binomial, n, p)

        drawn = _by_size((n, rare), n * rare < 10, _draw_small_binomial, draw_large)
        return _C.where(p > 0.5, n - drawn, drawn).reshape(probs.shape).to(probs.dtype)


def smallest_positive(dtype):
    """What draws of positive distributions are at least."""
    return finfo(dtype).tiny


__getattr__ = _absent_names(__name__)
