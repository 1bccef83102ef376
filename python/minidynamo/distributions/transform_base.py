"""The base of transforms, their inverses, and transforms made of others; `transforms` has them under torch's names."""

import functools

from .. import _C
from .._absent import absent_names as _absent_names
from . import constraints
from .utils import _sum_rightmost, lazy_property


class Transform:
    """A map from `domain` to `codomain`, constraints, with log |det J| of its Jacobian J.

    A subclass defines domain and codomain, `_call(x)`, and, if it can be inverted, `_inverse(y)`; if it is `bijective`,
    `log_abs_det_jacobian(x, y)` too, and `sign` (1 or -1, whether it rises) if it is monotone.

    cache_size: 1 keeps the latest x and y, so that the inverse of a y just computed is the very x; or 0.
    """

    bijective = False
    _origin = None

    def __init__(self, cache_size=0):
        if cache_size not in (0, 1):
            raise ValueError(f"cache_size has to be 0 or 1, not {cache_size!r}")
        self._cache_size = cache_size
        if cache_size:
            self._cached_x_y = None, None
        super().__init__()

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name != "_origin"}

    @property
    def event_dim(self):
        if self.domain.event_dim == self.codomain.event_dim:
            return self.domain.event_dim
        raise ValueError(
            f"{type(self).__name__} has no single event_dim: {self.domain.event_dim} in its domain, "
            f"{self.codomain.event_dim} in its codomain"
        )

    @property
    def inv(self):
        """The inverse transform; its own `inv` is this one."""
        return _InverseTransform(self)

    @property
    def sign(self):
        raise NotImplementedError(f"{type(self).__name__} does not define sign: it need not be monotone")

    def with_cache(self, cache_size=1):
        """This transform, or one like it, with that cache_size."""
        if self._cache_size == cache_size:
            return self
        if type(self).__init__ is Transform.__init__:
            return type(self)(cache_size=cache_size)
        raise NotImplementedError(f"{type(self).__name__} defines __init__, so it has to define with_cache() too")

    def __eq__(self, other):
        return self is other

    __hash__ = None

    def __ne__(self, other):
        return not self.__eq__(other)

    def __call__(self, x):
        if self._cache_size == 0:
            return self._call(x)
        x_before, y_before = self._cached_x_y
        if x is x_before:
            return y_before
        y = self._call(x)
        self._cached_x_y = x, y
        return y

    def _inv_call(self, y):
        if self._cache_size == 0:
            return self._inverse(y)
        x_before, y_before = self._cached_x_y
        if y is y_before:
            return x_before
        x = self._inverse(y)
        self._cached_x_y = x, y
        return x

    def _call(self, x):
        raise NotImplementedError(f"{type(self).__name__} does not define _call()")

    def _inverse(self, y):
        raise NotImplementedError(f"{type(self).__name__} does not define _inverse()")

    def log_abs_det_jacobian(self, x, y):
        """log |det dy/dx|, of the shape of x without its last `domain.event_dim` dimensions."""
        raise NotImplementedError(f"{type(self).__name__} does not define log_abs_det_jacobian()")

    def __repr__(self):
        return type(self).__name__ + "()"

    def forward_shape(self, shape):
        """Shape of y for an x of `shape`."""
        return shape

    def inverse_shape(self, shape):
        """Shape of x for a y of `shape`."""
        return shape


class _InverseTransform(Transform):
    """The inverse of `transform`, which does the work and keeps the cache."""

    def __init__(self, transform):
        super().__init__(cache_size=transform._cache_size)
        self._inv = transform

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return self._inv.codomain

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return self._inv.domain

    @property
    def bijective(self):
        return self._inv.bijective

    @property
    def sign(self):
        return self._inv.sign

    @property
    def inv(self):
        return self._inv

    def with_cache(self, cache_size=1):
        return self.inv.with_cache(cache_size).inv

    def __eq__(self, other):
        return isinstance(other, _InverseTransform) and self._inv == other._inv

    __hash__ = None

    def __repr__(self):
        return f"{type(self).__name__}({self._inv!r})"

    def __call__(self, x):
        return self._inv._inv_call(x)

    def log_abs_det_jacobian(self, x, y):
        return -self._inv.log_abs_det_jacobian(y, x)

    def forward_shape(self, shape):
        return self._inv.inverse_shape(shape)

    def inverse_shape(self, shape):
        return self._inv.forward_shape(shape)


class ComposeTransform(Transform):
    """The transforms `parts` one after another, the first first."""

    def __init__(self, parts, cache_size=0):
        if cache_size:
            parts = [part.with_cache(cache_size) for part in parts]
        super().__init__(cache_size=cache_size)
        self.parts = parts

    def __eq__(self, other):
        return isinstance(other, ComposeTransform) and self.parts == other.parts

    __hash__ = None

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        if not self.parts:
            return constraints.real
        first = self.parts[0].domain
        event_dim = self.parts[-1].codomain.event_dim
        for part in reversed(self.parts):
            event_dim = max(event_dim + part.domain.event_dim - part.codomain.event_dim, part.domain.event_dim)
        return constraints.independent(first, event_dim - first.event_dim) if event_dim > first.event_dim else first

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        if not self.parts:
            return constraints.real
        last = self.parts[-1].codomain
        event_dim = self.parts[0].domain.event_dim
        for part in self.parts:
            event_dim = max(event_dim + part.codomain.event_dim - part.domain.event_dim, part.codomain.event_dim)
        return constraints.independent(last, event_dim - last.event_dim) if event_dim > last.event_dim else last

    @lazy_property
    def bijective(self):
        return all(part.bijective for part in self.parts)

    @lazy_property
    def sign(self):
        return functools.reduce(lambda sign, part: sign * part.sign, self.parts, 1)

    @property
    def inv(self):
        if self._origin is not None:
            return self._origin
        inverse = ComposeTransform([part.inv for part in reversed(self.parts)])
        inverse._origin = self
        return inverse

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else ComposeTransform(self.parts, cache_size=cache_size)

    def __call__(self, x):
        for part in self.parts:
            x = part(x)
        return x

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return _C.zeros_like(x)
        values = [x]
        for part in self.parts[:-1]:
            values.append(part(values[-1]))
        values.append(y)
        terms = []
        event_dim = self.domain.event_dim
        for part, before, after in zip(self.parts, values, values[1:]):
            term = part.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, event_dim - part.domain.event_dim))
            event_dim += part.codomain.event_dim - part.domain.event_dim
        return functools.reduce(lambda total, term: total + term, terms)

    def forward_shape(self, shape):
        for part in self.parts:
            shape = part.forward_shape(shape)
        return shape

    def inverse_shape(self, shape):
        for part in reversed(self.parts):
            shape = part.inverse_shape(shape)
        return shape

    def __repr__(self):
        return f"{type(self).__name__}(\n    " + ",\n    ".join([repr(part) for part in self.parts]) + "\n)"


identity_transform = ComposeTransform([])


class IndependentTransform(Transform):
    """`base_transform`, with `reinterpreted_batch_ndims` more dimensions as part of an event: their logs are summed."""

    def __init__(self, base_transform, reinterpreted_batch_ndims, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.base_transform = base_transform.with_cache(cache_size)
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return IndependentTransform(self.base_transform, self.reinterpreted_batch_ndims, cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(self.base_transform.domain, self.reinterpreted_batch_ndims)

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(self.base_transform.codomain, self.reinterpreted_batch_ndims)

    @property
    def bijective(self):
        return self.base_transform.bijective

    @property
    def sign(self):
        return self.base_transform.sign

    def _call(self, x):
        if x.dim() < self.domain.event_dim:
            raise ValueError(f"{self!r} takes at least {self.domain.event_dim} dimensions, not {x.dim()}")
        return self.base_transform(x)

    def _inverse(self, y):
        if y.dim() < self.codomain.event_dim:
            raise ValueError(f"the inverse of {self!r} takes at least {self.codomain.event_dim} dimensions: {y.dim()}")
        return self.base_transform.inv(y)

    def log_abs_det_jacobian(self, x, y):
        return _sum_rightmost(self.base_transform.log_abs_det_jacobian(x, y), self.reinterpreted_batch_ndims)

    def __repr__(self):
        return f"{type(self).__name__}({self.base_transform!r}, {self.reinterpreted_batch_ndims})"

    def forward_shape(self, shape):
        return self.base_transform.forward_shape(shape)

    def inverse_shape(self, shape):
        return self.base_transform.inverse_shape(shape)


__getattr__ = _absent_names(__name__)
