"""Transforms of whole events: vectors, matrices, parts; `transforms` has them under torch's names."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from .._limits import finfo
from ..nn.functional import logsigmoid
from ..nn.functional import pad as _pad
from . import constraints
from .elementwise_transforms import clipped_sigmoid
from .factorization import cholesky
from .transform_base import Transform
from .utils import _as_size, _sum_rightmost, lazy_property, tril_matrix_to_vec, vec_to_tril_matrix


def _need_dimensions(transform, shape, count):
    if len(shape) < count:
        raise ValueError(f"{type(transform).__name__} needs at least {count} dimensions, and the shape is {shape}")


class ReshapeTransform(Transform):
    """The last dimensions, of shape `in_shape`, get shape `out_shape`. ValueError unless both have as many elements."""

    bijective = True

    def __init__(self, in_shape, out_shape, cache_size=0):
        self.in_shape = _as_size(in_shape)
        self.out_shape = _as_size(out_shape)
        if math.prod(self.in_shape) != math.prod(self.out_shape):
            raise ValueError(f"shapes {tuple(in_shape)} and {tuple(out_shape)} have different numbers of elements")
        super().__init__(cache_size=cache_size)

    @constraints.dependent_property(is_discrete=False)
    def domain(self):
        return constraints.independent(constraints.real, len(self.in_shape))

    @constraints.dependent_property(is_discrete=False)
    def codomain(self):
        return constraints.independent(constraints.real, len(self.out_shape))

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return ReshapeTransform(self.in_shape, self.out_shape, cache_size=cache_size)

    def _call(self, x):
        return x.reshape(x.shape[: x.dim() - len(self.in_shape)] + self.out_shape)

    def _inverse(self, y):
        return y.reshape(y.shape[: y.dim() - len(self.out_shape)] + self.in_shape)

    def log_abs_det_jacobian(self, x, y):
        return x.new_zeros(x.shape[: x.dim() - len(self.in_shape)])

    def _changed(self, shape, old, new):
        _need_dimensions(self, shape, len(old))
        cut = len(shape) - len(old)
        if tuple(shape[cut:]) != tuple(old):
            raise ValueError(f"ReshapeTransform expects {tuple(old)} as last dimensions of shape {tuple(shape)}")
        return _as_size(shape[:cut]) + new

    def forward_shape(self, shape):
        return self._changed(shape, self.in_shape, self.out_shape)

    def inverse_shape(self, shape):
        return self._changed(shape, self.out_shape, self.in_shape)


class SoftmaxTransform(Transform):
    """y = softmax(x) over the last dimension; the inverse is log(y). Not bijective: x + c has the same y."""

    domain = constraints.real_vector
    codomain = constraints.simplex

    def __eq__(self, other):
        return isinstance(other, SoftmaxTransform)

    __hash__ = None

    def _call(self, x):
        weights = (x - x.max(-1, True)[0]).exp()
        return weights / weights.sum(-1, True)

    def _inverse(self, y):
        return y.log()

    def forward_shape(self, shape):
        _need_dimensions(self, shape, 1)
        return shape

    def inverse_shape(self, shape):
        _need_dimensions(self, shape, 1)
        return shape


class StickBreakingTransform(Transform):
    """n reals to a point of the simplex with n + 1 coordinates, by breaking off parts of a stick.

    Coordinate k is the part sigmoid(x_k - log(n - k)) of what coordinates 0 to k - 1 left, so zeros give equal ones.
    """

    domain = constraints.real_vector
    codomain = constraints.simplex
    bijective = True

    def __eq__(self, other):
        return isinstance(other, StickBreakingTransform)

    __hash__ = None

    @staticmethod
    def _log_remaining(vector):
        """log(n), ..., log(1) for vectors of n elements."""
        return _C.arange(vector.shape[-1], 0, -1, dtype=vector.dtype, device=vector.device).log()

    def _call(self, x):
        part = clipped_sigmoid(x - self._log_remaining(x))
        left = (1 - part).cumprod(-1)
        return _pad(part, [0, 1], value=1) * _pad(left, [1, 0], value=1)

    def _inverse(self, y):
        taken = y[..., :-1]
        left = (1 - taken.cumsum(-1)).clamp(min=finfo(y.dtype).tiny)
        return taken.log() - left.log() + self._log_remaining(taken)

    def log_abs_det_jacobian(self, x, y):
        x = x - self._log_remaining(x)
        return (-x + logsigmoid(x) + y[..., :-1].log()).sum(-1)

    def forward_shape(self, shape):
        _need_dimensions(self, shape, 1)
        return shape[:-1] + (shape[-1] + 1,)

    def inverse_shape(self, shape):
        _need_dimensions(self, shape, 1)
        return shape[:-1] + (shape[-1] - 1,)


class LowerCholeskyTransform(Transform):
    """Square matrices to lower triangular ones: the part above the diagonal is dropped, the diagonal is exp of it."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other):
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = None

    def _call(self, x):
        return x.tril(-1) + _C.diag_embed(x.diagonal(dim1=-2, dim2=-1).exp())

    def _inverse(self, y):
        return y.tril(-1) + _C.diag_embed(y.diagonal(dim1=-2, dim2=-1).log())


class PositiveDefiniteTransform(Transform):
    """Square matrices to positive definite ones: L @ L.mT for the L of LowerCholeskyTransform."""

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other):
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = None

    def _call(self, x):
        factor = LowerCholeskyTransform()(x)
        return factor @ factor.mT

    def _inverse(self, y):
        return LowerCholeskyTransform().inv(cholesky(y))


class CorrCholeskyTransform(Transform):
    """n (n - 1) / 2 reals to the Cholesky factor of a correlation matrix of n variables.

    tanh of them are canonical partial correlations, row by row below the diagonal (Lewandowski, Kurowicka and Joe,
    "Generating random correlation matrices based on vines and extended onion method", 2009, part 2).
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        eps = finfo(x.dtype).eps
        partial = vec_to_tril_matrix(x.tanh().clamp(min=-1 + eps, max=1 - eps), diag=-1)
        left = (1 - partial.square()).sqrt().cumprod(-1)
        partial = partial + _C.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return partial * _pad(left[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        left = _pad(1 - y.square().cumsum(-1)[..., :-1], [1, 0], value=1)
        partial = tril_matrix_to_vec(y, diag=-1) / tril_matrix_to_vec(left, diag=-1).sqrt()
        return (partial.log1p() - partial.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        left = tril_matrix_to_vec(1 - y.square().cumsum(-1), diag=-2)
        return 0.5 * left.log().sum(-1) - 2 * (x - logsigmoid(2 * x) - math.log(2.0)).sum(-1)

    def forward_shape(self, shape):
        _need_dimensions(self, shape, 1)
        n = round((0.25 + 2 * shape[-1]) ** 0.5 + 0.5)
        if n * (n - 1) // 2 != shape[-1]:
            raise ValueError(f"{shape[-1]} elements are not those below the diagonal of a square matrix")
        return shape[:-1] + (n, n)

    def inverse_shape(self, shape):
        _need_dimensions(self, shape, 2)
        if shape[-2] != shape[-1]:
            raise ValueError(f"CorrCholeskyTransform gives square matrices, not {tuple(shape[-2:])}")
        return shape[:-2] + (shape[-1] * (shape[-1] - 1) // 2,)


def _all_transforms(tseq, cache_size):
    for transform in tseq:
        if not isinstance(transform, Transform):
            raise AssertionError(f"a sequence of transforms has something else in it: {transform!r}")
    return [transform.with_cache(cache_size) if cache_size else transform for transform in tseq]


def _need_size(tensor, dim, size):
    if not -tensor.dim() <= dim < tensor.dim():
        raise AssertionError(f"dimension {dim} is not among the {tensor.dim()} of the tensor")
    if tensor.size(dim) != size:
        raise AssertionError(f"dimension {dim} has to have size {size}, as the transforms do, not {tensor.size(dim)}")


class CatTransform(Transform):
    """Transforms of consecutive parts along `dim`, of the given lengths, 1 each if none are given."""

    def __init__(self, tseq, dim=0, lengths=None, cache_size=0):
        self.transforms = _all_transforms(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.lengths = [1] * len(self.transforms) if lengths is None else list(lengths)
        if len(self.lengths) != len(self.transforms):
            raise AssertionError(f"{len(self.transforms)} transforms need as many lengths, not {len(self.lengths)}")
        self.dim = dim

    @lazy_property
    def event_dim(self):
        return max(transform.event_dim for transform in self.transforms)

    @lazy_property
    def length(self):
        return sum(self.lengths)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CatTransform(self.transforms, self.dim, self.lengths, cache_size)

    def _parts(self, tensor):
        _need_size(tensor, self.dim, self.length)
        return tensor.split(self.lengths, self.dim)

    def _call(self, x):
        return _C.cat([t(part) for t, part in zip(self.transforms, self._parts(x))], self.dim)

    def _inverse(self, y):
        return _C.cat([t.inv(part) for t, part in zip(self.transforms, self._parts(y))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        terms = []
        for transform, before, after in zip(self.transforms, self._parts(x), self._parts(y)):
            term = transform.log_abs_det_jacobian(before, after)
            terms.append(_sum_rightmost(term, self.event_dim - transform.event_dim))
        dim = self.dim - x.dim() if self.dim >= 0 else self.dim
        dim += self.event_dim
        if dim < 0:
            return _C.cat(terms, dim)
        return sum(terms[1:], terms[0])

    @property
    def bijective(self):
        return all(transform.bijective for transform in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.cat([transform.domain for transform in self.transforms], self.dim, self.lengths)

    @constraints.dependent_property
    def codomain(self):
        return constraints.cat([transform.codomain for transform in self.transforms], self.dim, self.lengths)


class StackTransform(Transform):
    """Transforms of the slices along `dim`, one each."""

    def __init__(self, tseq, dim=0, cache_size=0):
        self.transforms = _all_transforms(tseq, cache_size)
        super().__init__(cache_size=cache_size)
        self.dim = dim

    def with_cache(self, cache_size=1):
        return self if self._cache_size == cache_size else StackTransform(self.transforms, self.dim, cache_size)

    def _slice(self, z):
        _need_size(z, self.dim, len(self.transforms))
        return [z.select(self.dim, i) for i in range(z.size(self.dim))]

    def _call(self, x):
        return _C.stack([t(part) for t, part in zip(self.transforms, self._slice(x))], self.dim)

    def _inverse(self, y):
        return _C.stack([t.inv(part) for t, part in zip(self.transforms, self._slice(y))], self.dim)

    def log_abs_det_jacobian(self, x, y):
        parts = zip(self.transforms, self._slice(x), self._slice(y))
        return _C.stack([t.log_abs_det_jacobian(before, after) for t, before, after in parts], self.dim)

    @property
    def bijective(self):
        return all(transform.bijective for transform in self.transforms)

    @constraints.dependent_property
    def domain(self):
        return constraints.stack([transform.domain for transform in self.transforms], self.dim)

    @constraints.dependent_property
    def codomain(self):
        return constraints.stack([transform.codomain for transform in self.transforms], self.dim)


class CumulativeDistributionTransform(Transform):
    """y = the cumulative distribution function of `distribution` at x."""

    bijective = True
    codomain = constraints.unit_interval
    sign = +1

    def __init__(self, distribution, cache_size=0):
        super().__init__(cache_size=cache_size)
        self.distribution = distribution

    @property
    def domain(self):
        return self.distribution.support

    def _call(self, x):
        return self.distribution.cdf(x)

    def _inverse(self, y):
        return self.distribution.icdf(y)

    def log_abs_det_jacobian(self, x, y):
        return self.distribution.log_prob(x)

    def with_cache(self, cache_size=1):
        if self._cache_size == cache_size:
            return self
        return CumulativeDistributionTransform(self.distribution, cache_size=cache_size)


__getattr__ = _absent_names(__name__)
