"""Transforms of each element by itself; `transforms` has them under torch's names."""

import math
from numbers import Number

from .. import _C
from .._absent import absent_names as _absent_names
from .._limits import finfo
from ..nn.functional import logsigmoid, softplus
from . import constraints
from .transform_base import Transform
from .utils import _as_size, _sum_rightmost, broadcast_all, lazy_property


def clipped_sigmoid(x):
    """sigmoid(x), at least the smallest normal number and at most 1 - eps."""
    limits = finfo(x.dtype)
    return _C.sigmoid(x).clamp(min=limits.tiny, max=1.0 - limits.eps)


def _broadcast_shape(*shapes):
    """The shape of tensors of these shapes together. RuntimeError if they do not fit."""
    result = [1] * max(len(shape) for shape in shapes)
    for shape in shapes:
        for place, size in zip(range(-len(shape), 0), shape):
            if 1 != size != result[place] != 1:
                raise RuntimeError(f"shapes {', '.join([str(tuple(s)) for s in shapes])} cannot be broadcast")
            if size != 1:
                result[place] = size
    return _as_size(result)


class ExpTransform(Transform):
    """y = exp(x)."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, ExpTransform)

    __hash__ = None

    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class PowerTransform(Transform):
    """y = x ** exponent, for positive x. exponent: a number or a tensor."""

    domain = constraints.positive
    codomain = constraints.positive
    bijective = True

    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size=cache_size)
        (self.exponent,) = broadcast_all(exponent)

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else PowerTransform(self.exponent, cache_size=cache_size)

    @lazy_property
    def sign(self):
        return self.exponent.sign()

    def __eq__(self, other):
        return isinstance(other, PowerTransform) and bool(self.exponent.eq(other.exponent).all())

    __hash__ = None

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()

    def forward_shape(self, shape):
        return _broadcast_shape(shape, self.exponent.shape)

    def inverse_shape(self, shape):
        return _broadcast_shape(shape, self.exponent.shape)


class SigmoidTransform(Transform):
    """y = 1 / (1 + exp(-x)), kept inside (0, 1)."""

    domain = constraints.real
    codomain = constraints.unit_interval
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, SigmoidTransform)

    __hash__ = None

    def _call(self, x):
        return clipped_sigmoid(x)

    def _inverse(self, y):
        limits = finfo(y.dtype)
        y = y.clamp(min=limits.tiny, max=1.0 - limits.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return logsigmoid(x) + logsigmoid(-x)


class SoftplusTransform(Transform):
    """y = log(1 + exp(x)), which is x for x > 20."""

    domain = constraints.real
    codomain = constraints.positive
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, SoftplusTransform)

    __hash__ = None

    def _call(self, x):
        return softplus(x)

    def _inverse(self, y):
        return (-y).expm1().neg().log() + y

    def log_abs_det_jacobian(self, x, y):
        return logsigmoid(x)


class TanhTransform(Transform):
    """y = tanh(x). Where y is rounded to 1 its inverse is infinite: give x along with y by cache_size=1."""

    domain = constraints.real
    codomain = constraints.interval(-1.0, 1.0)
    bijective = True
    sign = +1

    def __eq__(self, other):
        return isinstance(other, TanhTransform)

    __hash__ = None

    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return _C.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        """log(1 - tanh(x)^2), as 2 (log 2 - x + log sigmoid(2 x)), which does not cancel."""
        return 2.0 * (math.log(2.0) - x + logsigmoid(2.0 * x))


class AbsTransform(Transform):
    """y = |x|, whose inverse is the nonnegative x."""

    domain = constraints.real
    codomain = constraints.positive

    def __eq__(self, other):
        return isinstance(other, AbsTransform)

    __hash__ = None

    def _call(self, x):
        return x.abs()

    def _inverse(self, y):
        return y


class AffineTransform(Transform):
    """y = loc + scale * x, elementwise. event_dim: how many of the last dimensions are one event."""

    bijective = True

    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.loc = loc
        self.scale = scale
        self._event_dim = event_dim

    @property
    def event_dim(self):
        return self._event_dim

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(constraints.real, self.event_dim) if self.event_dim else constraints.real

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return AffineTransform(self.loc, self.scale, self.event_dim, cache_size=cache_size)

    def __eq__(self, other):
        if not isinstance(other, AffineTransform):
            return False
        return _all_equal(self.loc, other.loc) and _all_equal(self.scale, other.scale)

    __hash__ = None

    @property
    def sign(self):
        return (self.scale > 0) - (self.scale < 0) if isinstance(self.scale, Number) else self.scale.sign()

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, Number):
            result = _C.full_like(x, math.log(abs(self.scale)))
        else:
            result = self.scale.abs().log()
        if self.event_dim:
            event = _broadcast_shape(result.shape, x.shape[-self.event_dim :])  # a scale may be shared within it
            result = _sum_rightmost(result.expand(event), self.event_dim)
        return result.expand(x.shape[: x.dim() - self.event_dim])

    def _shape(self, shape):
        return _broadcast_shape(shape, getattr(self.loc, "shape", ()), getattr(self.scale, "shape", ()))

    def forward_shape(self, shape):
        return self._shape(shape)

    def inverse_shape(self, shape):
        return self._shape(shape)


def _all_equal(a, b):
    same = a == b
    return bool(same.all()) if isinstance(same, _C.Tensor) else same


__getattr__ = _absent_names(__name__)
