"""torch.distributions.lowrank_multivariate_normal: normal vectors of a few common factors and independent rests."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from . import constraints
from .distribution import Distribution
from .factorization import cholesky, log_determinant_of_factor, mahalanobis, solve_triangular
from .multivariate_normal import matrix_times_vector
from .utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def capacitance_factor(cov_factor, cov_diag):
    """Cholesky factor of I + W^T D^-1 W, of (..., rank, rank), for W (..., n, rank) and the diagonal D (..., n)."""
    scaled = cov_factor.mT / cov_diag.unsqueeze(-2)
    rank = cov_factor.shape[-1]
    return cholesky(scaled @ cov_factor + _C.eye(rank, dtype=scaled.dtype, device=scaled.device))


def low_rank_log_determinant(cov_diag, capacitance):
    """log det(W W^T + D), by the matrix determinant lemma."""
    return 2 * log_determinant_of_factor(capacitance) + cov_diag.log().sum(-1)


def low_rank_mahalanobis(cov_factor, cov_diag, difference, capacitance):
    """d^T (W W^T + D)^-1 d, by Woodbury's identity."""
    projected = matrix_times_vector(cov_factor.mT / cov_diag.unsqueeze(-2), difference)
    return (difference.square() / cov_diag).sum(-1) - mahalanobis(capacitance, projected)


class LowRankMultivariateNormal(Distribution):
    """MultivariateNormal with covariance W @ W.mT + diag(d), at the cost of rank instead of n.

    loc: (..., n). cov_factor: W, (..., n, rank). cov_diag: d, (..., n), positive.
    Raises ValueError for shapes that do not fit.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        self._check_shapes(loc, cov_factor, cov_diag)
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = capacitance_factor(cov_factor, cov_diag)
        try:
            self.loc, self.cov_diag, _ = _C.broadcast_tensors(loc, cov_diag, cov_factor[..., 0])
        except RuntimeError as error:
            shapes = [tuple(t.shape) for t in (loc, cov_factor, cov_diag)]
            raise ValueError(f"batch shapes of loc, cov_factor and cov_diag do not fit: {shapes}") from error
        batch_shape = self.loc.shape[:-1]
        self.cov_factor = cov_factor.expand(batch_shape + cov_factor.shape[-2:])
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)

    @staticmethod
    def _check_shapes(loc, cov_factor, cov_diag):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional: its last dimension is that of the vectors")
        if cov_factor.dim() < 2:
            raise ValueError("cov_factor must be at least two-dimensional, with batch dimensions before the matrix")
        n = loc.shape[-1]
        if cov_factor.shape[-2] != n:
            raise ValueError(f"cov_factor needs {n} rows, as loc has elements, and has {cov_factor.shape[-2]}")
        if cov_diag.dim() < 1 or cov_diag.shape[-1] != n:
            raise ValueError(f"cov_diag needs {n} elements, as loc has, and its shape is {tuple(cov_diag.shape)}")

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LowRankMultivariateNormal, _instance)
        new._unbroadcasted_cov_factor = self._unbroadcasted_cov_factor
        new._unbroadcasted_cov_diag = self._unbroadcasted_cov_diag
        new._capacitance_tril = self._capacitance_tril
        names = ("loc", "cov_diag", "cov_factor")
        return self._expand_parameters(LowRankMultivariateNormal, batch_shape, new, *names)

    def _matrix_shape(self):
        return self._batch_shape + self._event_shape + self._event_shape

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        own = self._unbroadcasted_cov_factor.square().sum(-1) + self._unbroadcasted_cov_diag
        return own.expand(self._batch_shape + self._event_shape)

    @lazy_property
    def scale_tril(self):
        """D^1/2 times the factor of I + D^-1/2 W W^T D^-1/2, whose eigenvalues are at least 1."""
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        n = self._event_shape[0]
        factor = cholesky(scaled @ scaled.mT + _C.eye(n, dtype=scaled.dtype, device=scaled.device))
        return (root * factor).expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_cov_factor
        return (factor @ factor.mT + _C.diag_embed(self._unbroadcasted_cov_diag)).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self):
        """By Woodbury's identity, D^-1 - D^-1 W (I + W^T D^-1 W)^-1 W^T D^-1."""
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        solved = solve_triangular(self._capacitance_tril, scaled)
        own = _C.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - solved.mT @ solved
        return own.expand(self._matrix_shape())

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        kind = {"dtype": self.loc.dtype, "device": self.loc.device}
        common = _standard_normal(shape[:-1] + self.cov_factor.shape[-1:], **kind)
        own = _standard_normal(shape, **kind)
        shared = matrix_times_vector(self._unbroadcasted_cov_factor, common)
        return self.loc + shared + self._unbroadcasted_cov_diag.sqrt() * own

    def _log_determinant(self):
        return low_rank_log_determinant(self._unbroadcasted_cov_diag, self._capacitance_tril)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        parts = self._unbroadcasted_cov_factor, self._unbroadcasted_cov_diag
        squared = low_rank_mahalanobis(*parts, value - self.loc, self._capacitance_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + self._log_determinant() + squared)

    def entropy(self):
        result = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._log_determinant())
        return result.expand(self._batch_shape)


__getattr__ = _absent_names(__name__)
