"""How draws move with parameters at a fixed cumulative probability, and the cumulative probabilities themselves.

For a draw x with distribution function F(x; a) and density p, dx/da = -(dF/da) / p (Figurnov, Mohamed and Mnih,
"Implicit Reparameterization Gradients", 2018). dF/da is the integral of d log p/da times p over what lies left of x,
or the negative of that over what lies right. Of the two, the one over which d log p/da has one sign is taken, so
nothing cancels. Such an integral, with the weight relative to p(x), is a smooth function of the logarithm of the
distance from x, for which the trapezoidal rule converges exponentially (Trefethen and Weideman, "The Exponentially
Convergent Trapezoidal Rule", 2014): relative errors are about 1e-10 for derivatives, 1e-13 for probabilities.
"""

import math

from .. import _C
from .._absent import absent_names as _absent_names

_AT_ONCE = 1 << 21  # values of an integrand
_NEGLIGIBLE = 40.0  # -log of a weight that no longer counts
_SPAN = 27.0  # range of log-distances


def _integral(integrand, width, parameters, step):
    """Integral over w from 0 to infinity of integrand(w, *parameters), negligible from `width` on. 1-d tensors."""
    count = math.ceil(_SPAN / step)
    nodes = _C.exp(-step * _C.arange(count, dtype=_C.float64, device=width.device))
    # Below the last node the integrand is what it is there: the rest of the sum is a geometric series.
    weights = _C.cat([nodes.new_ones(count - 1), nodes.new_full((1,), 1 / -math.expm1(-step))])
    weights = step * weights * nodes
    rows = max(1, _AT_ONCE // count)
    sums = []
    for start in range(0, width.numel(), rows):
        part = slice(start, start + rows)
        w = width[part].unsqueeze(-1) * nodes
        values = integrand(w, *[parameter[part].unsqueeze(-1) for parameter in parameters])
        sums.append((values @ weights) * width[part])
    return _C.cat(sums) if sums else width


def _by_side(left, parameters, on_left, on_right):
    """on_left(*parameters) where `left`, on_right(*parameters) elsewhere; all 1-d."""
    result = _C.empty_like(parameters[0])
    for where, function in ((left, on_left), (~left, on_right)):
        result[where] = function(*[parameter[where] for parameter in parameters])
    return result


def _flat_doubles(*tensors):
    """As float64 of one shape, without dimensions; and that shape."""
    tensors = _C.broadcast_tensors(*tensors)
    return [tensor.detach().to(_C.float64).reshape(-1) for tensor in tensors], tensors[0].shape


def _at_least(x, smallest=1e-300):
    return x.clamp(min=smallest)


# Gamma(a): p(t) = t^(a-1) e^-t / Gamma(a), d log p/da = log t - digamma(a).


def _left_gamma_weight(w, a, x):
    """t p(t) / (x p(x)) at t = x e^-w."""
    return _C.exp(-a * w - x * _C.expm1(-w))


def _left_gamma_width(a, x):
    # The exponent is (a - x) w + x (w - 1 + e^-w), and w - 1 + e^-w >= min(w^2, w) / 3.
    bent = 3 * _NEGLIGIBLE / _at_least(x)
    return _C.minimum(_NEGLIGIBLE / _at_least(a - x), _C.maximum(bent.sqrt(), bent))


def _right_gamma_weight(s, a, x):
    """p(x + s) / p(x)."""
    return _C.exp((a - 1) * _C.log1p(s / x) - s)


def _right_gamma_width(a, x):
    # The exponent is (1 - (a - 1) / x) s + (a - 1) (u - log(1 + u)), u = s / x, and u - log(1 + u) >= min(u^2, u) / 6.
    bent = 6 * _NEGLIGIBLE / _at_least(a - 1)
    straight = _NEGLIGIBLE / _at_least(1 - (a - 1).clamp(min=0) / x)
    return _C.minimum(straight, x * _C.maximum(bent.sqrt(), bent))


def gamma_gradient(sample, concentration):
    """dx/da of draws x of Gamma(a, 1), as a tensor of sample's dtype."""
    (x, a), shape = _flat_doubles(sample, concentration)
    x = _at_least(x)
    center = a.digamma()

    def on_left(a, x, center):
        def integrand(w, a, x, offset):
            return _left_gamma_weight(w, a, x) * (offset + w)

        return x * _integral(integrand, _left_gamma_width(a, x), (a, x, center - x.log()), 0.18)

    def on_right(a, x, center):
        def integrand(s, a, x, center):
            return _right_gamma_weight(s, a, x) * ((x + s).log() - center)

        return _integral(integrand, _right_gamma_width(a, x), (a, x, center), 0.18)

    gradient = _by_side(x.log() < center, (a, x, center), on_left, on_right)
    return gradient.reshape(shape).to(sample.dtype)


def _gamma_log_density(a, x):
    """log(x p(x)), for large a by Stirling's series, in which nothing large cancels."""
    plain = a * x.log() - x - a.lgamma()
    inverse = 1 / a.clamp(min=1)
    square = inverse.square()
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    off = (x - a) / a
    large = a * (off.log1p() - off) + 0.5 * (a / (2 * math.pi)).log() - series
    return _C.where(a > 20, large, plain)


def gamma_probability(concentration, value):
    """P(X <= value) for X of Gamma(concentration, 1): the regularised lower incomplete gamma function."""
    (a, x), shape = _flat_doubles(concentration, value)
    inner = x.clamp(min=1e-300, max=1e300)

    def on_left(a, x):
        integral = _integral(_left_gamma_weight, _left_gamma_width(a, x), (a, x), 0.14)
        return _gamma_log_density(a, x).exp() * integral

    def on_right(a, x):
        integral = _integral(_right_gamma_weight, _right_gamma_width(a, x), (a, x), 0.14)
        return 1 - (_gamma_log_density(a, x) - x.log()).exp() * integral

    result = _by_side(inner.log() < a.digamma(), (a, inner), on_left, on_right).clamp(min=0, max=1)
    result = result.masked_fill(x == 0, 0.0).masked_fill(x == float("inf"), 1.0)
    result = result.masked_fill((x < 0) | x.isnan() | a.isnan() | (a <= 0), float("nan"))
    return result.reshape(shape).to(_C.result_type(concentration, value))


# Beta(a, b): p(t) = t^(a-1) (1-t)^(b-1) / B(a, b), d log p/da = log t - digamma(a) + digamma(a + b).


def _beta_weight(w, a, b, ratio):
    """t p(t) / (x p(x)) at t = x e^-w, for ratio = x / (1 - x)."""
    return _C.exp((b - 1) * _C.log1p(-ratio * _C.expm1(-w)) - a * w)


def _beta_width(a, b, ratio):
    # The exponent is (a - (b-1) r) w + (b-1) k(w), r = ratio, and k(w) >= r min((1 + r) w^2, w) / 4.
    more = (b - 1).clamp(min=0)
    slope = a - more * ratio
    bent = 4 * _NEGLIGIBLE / _at_least(more * ratio)
    near = _C.minimum(_NEGLIGIBLE / _at_least(slope), _C.maximum((bent / (1 + ratio)).sqrt(), bent))
    far = (_NEGLIGIBLE + more * ratio.log1p()) / a
    return _C.where(slope > 0, _C.minimum(near, far), far)


def dirichlet_gradient(sample, concentration, total):
    """(dx/da) / (1 - x) of draws x of Beta(a, total - a), the coordinates of Dirichlet draws; b = total - a is fixed.

    A tensor of sample's dtype.
    """
    (x, a, total), shape = _flat_doubles(sample, concentration, total)
    x = x.clamp(min=1e-300, max=1 - 2.0**-53)
    b = _at_least(total - a)
    center = a.digamma() - total.digamma()

    def on_left(x, a, b, center):
        ratio = x / (1 - x)

        def integrand(w, a, b, ratio, offset):
            return _beta_weight(w, a, b, ratio) * (offset + w)

        return ratio * _integral(integrand, _beta_width(a, b, ratio), (a, b, ratio, center - x.log()), 0.18)

    def on_right(x, a, b, center):
        ratio = (1 - x) / x  # the same integral of 1 - t, with a and b exchanged

        def integrand(w, a, b, ratio, log_x, center):
            log_t = log_x + _C.log1p(-ratio * _C.expm1(-w))
            return _beta_weight(w, b, a, ratio) * (log_t - center)

        return _integral(integrand, _beta_width(b, a, ratio), (a, b, ratio, x.log(), center), 0.18)

    # Next to an end the density is a power, and on that side the integral is easy, though its sign may change.
    left = (x.log() < center) & ((1 - x) * (1 + a) >= 0.01) | (x * (1 + b) < 0.01)
    gradient = _by_side(left, (x, a, b, center), on_left, on_right)
    return gradient.reshape(shape).to(sample.dtype)


__getattr__ = _absent_names(__name__)
