"""torch.distributions.multivariate_normal: the Gaussian distribution of vectors."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from . import constraints
from .distribution import Distribution
from .factorization import cholesky, cholesky_inverse, log_determinant_of_factor, mahalanobis, precision_to_scale_tril
from .utils import _standard_normal, lazy_property

__all__ = ["MultivariateNormal"]


def matrix_times_vector(matrix, vector):
    """(..., n, m) matrices times (..., m) vectors, batch dimensions broadcast."""
    return (matrix @ vector.unsqueeze(-1)).squeeze(-1)


class MultivariateNormal(Distribution):
    """Normal distribution of vectors of n, with mean `loc` (..., n) and one of three (..., n, n) matrices.

    `covariance_matrix`, `precision_matrix` (its inverse) or `scale_tril` (its lower Cholesky factor; with that nothing
    has to be factored). ValueError unless exactly one is given, and if loc is a number; LinAlgError for a matrix that
    is not positive definite and was not checked.
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "covariance_matrix": constraints.positive_definite,
        "precision_matrix": constraints.positive_definite,
        "scale_tril": constraints.lower_cholesky,
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional: its last dimension is that of the vectors")
        name, matrix = self._given_matrix(covariance_matrix, precision_matrix, scale_tril)
        batch_shape = _common_batch(matrix, loc)
        setattr(self, name, matrix.expand(batch_shape + matrix.shape[-2:]))
        self.loc = loc.expand(batch_shape + loc.shape[-1:])
        super().__init__(batch_shape, self.loc.shape[-1:], validate_args=validate_args)
        # Not of the expanded matrix: equal ones need be factored only once.
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(precision_matrix)

    @staticmethod
    def _given_matrix(covariance_matrix, precision_matrix, scale_tril):
        matrices = {
            "covariance_matrix": covariance_matrix,
            "precision_matrix": precision_matrix,
            "scale_tril": scale_tril,
        }
        given = [(name, matrix) for name, matrix in matrices.items() if matrix is not None]
        if len(given) != 1:
            raise ValueError(f"exactly one of {', '.join(matrices)} has to be given, not {len(given)}")
        if given[0][1].dim() < 2:
            raise ValueError(f"{given[0][0]} must be at least two-dimensional, with batch dimensions before the matrix")
        return given[0]

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(MultivariateNormal, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        names = ("loc", "covariance_matrix", "precision_matrix", "scale_tril")
        return self._expand_parameters(MultivariateNormal, batch_shape, new, *names)

    def _matrix_shape(self):
        return self._batch_shape + self._event_shape + self._event_shape

    @lazy_property
    def scale_tril(self):
        return self._unbroadcasted_scale_tril.expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_scale_tril
        return (factor @ factor.mT).expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self):
        return cholesky_inverse(self._unbroadcasted_scale_tril).expand(self._matrix_shape())

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.square().sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        noise = _standard_normal(shape, dtype=self.loc.dtype, device=self.loc.device)
        return self.loc + matrix_times_vector(self._unbroadcasted_scale_tril, noise)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        squared = mahalanobis(self._unbroadcasted_scale_tril, value - self.loc)
        half_log_det = log_determinant_of_factor(self._unbroadcasted_scale_tril)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + squared) - half_log_det

    def entropy(self):
        half_log_det = log_determinant_of_factor(self._unbroadcasted_scale_tril)
        result = 0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + half_log_det
        return result.expand(self._batch_shape)


def _common_batch(matrix, loc):
    """Batch shape of (..., n, n) matrices and (..., n) vectors together."""
    return _C.broadcast_tensors(matrix[..., 0], loc)[0].shape[:-1]


__getattr__ = _absent_names(__name__)
