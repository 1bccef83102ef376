"""torch.distributions.wishart: scatter matrices of normal samples."""

import math
import warnings
from numbers import Number

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling as _is_compiling
from .._limits import finfo
from . import constraints
from .chi2 import Chi2
from .exp_family import ExponentialFamily
from .factorization import (
    cholesky,
    cholesky_inverse,
    is_positive_definite,
    log_determinant_of_factor,
    precision_to_scale_tril,
    solve_triangular,
)
from .multivariate_gamma import mvdigamma, mvlgamma
from .multivariate_normal import MultivariateNormal
from .utils import _as_size, lazy_property

__all__ = ["Wishart"]


class Wishart(ExponentialFamily):
    """Wishart distribution of p x p matrices: sums of x x^T over `df` normal vectors x; df may be any number > p - 1.

    df: a number or a tensor. The vectors' covariance is given by one of three (..., p, p) matrices, as for
    MultivariateNormal: `covariance_matrix`, `precision_matrix`, `scale_tril`.
    Raises ValueError unless exactly one of them is given, and for a df that is too small.
    """

    support = constraints.positive_definite
    has_rsample = True
    _mean_carrier_measure = 0

    @property
    def arg_constraints(self):
        return {
            "covariance_matrix": constraints.positive_definite,
            "precision_matrix": constraints.positive_definite,
            "scale_tril": constraints.lower_cholesky,
            "df": constraints.greater_than(self._event_shape[-1] - 1),
        }

    def __init__(self, df, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        name, matrix = MultivariateNormal._given_matrix(covariance_matrix, precision_matrix, scale_tril)
        if isinstance(df, Number):
            df = _C.tensor(df, dtype=matrix.dtype, device=matrix.device)
        batch_shape = _C.broadcast_tensors(df, matrix[..., 0, 0])[0].shape
        event_shape = matrix.shape[-2:]
        self.df = df.expand(batch_shape)
        setattr(self, name, matrix.expand(batch_shape + event_shape))
        if not _is_compiling():
            self._check_df(event_shape[-1])
        super().__init__(batch_shape, event_shape, validate_args=validate_args)
        if scale_tril is not None:
            self._unbroadcasted_scale_tril = scale_tril
        elif covariance_matrix is not None:
            self._unbroadcasted_scale_tril = cholesky(covariance_matrix)
        else:
            self._unbroadcasted_scale_tril = precision_to_scale_tril(precision_matrix)
        self._dist_chi2 = self._diagonal_draws(event_shape[-1])

    def _check_df(self, p):
        if self.df.le(p - 1).any():
            raise ValueError(f"df of Wishart has to be above {p - 1} for {p} x {p} matrices, and is {self.df}")
        if self.df.lt(p).any():
            warnings.warn(
                f"df of Wishart is below {p}: draws are nearly singular, and may be singular after rounding",
                stacklevel=4,
            )

    def _diagonal_draws(self, p):
        """Squares on the diagonal of Bartlett's factor."""
        return Chi2(self.df.unsqueeze(-1) - _C.arange(p, dtype=self.df.dtype, device=self.df.device))

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(Wishart, _instance)
        new._unbroadcasted_scale_tril = self._unbroadcasted_scale_tril
        names = ("df", "covariance_matrix", "precision_matrix", "scale_tril")
        new = self._expand_parameters(Wishart, batch_shape, new, *names)
        new._dist_chi2 = new._diagonal_draws(self._event_shape[-1])
        return new

    def _matrix_shape(self):
        return self._batch_shape + self._event_shape

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
        return self.df[..., None, None] * self.covariance_matrix

    @property
    def mode(self):
        """NaN for df <= p + 1."""
        factor = self.df - self.covariance_matrix.shape[-1] - 1
        factor = factor.masked_fill(factor <= 0, float("nan"))
        return factor[..., None, None] * self.covariance_matrix

    @property
    def variance(self):
        V = self.covariance_matrix
        diagonal = V.diagonal(dim1=-2, dim2=-1)
        return self.df[..., None, None] * (V.square() + diagonal.unsqueeze(-1) * diagonal.unsqueeze(-2))

    def _bartlett_sampling(self, sample_shape=()):
        """L A A^T L^T for a lower A with chi on the diagonal and normal draws below (Bartlett, "On the theory of
        statistical regression", 1933)."""
        diagonal = self._dist_chi2.rsample(sample_shape).clamp(min=finfo(self.df.dtype).tiny).sqrt()
        below = _C.randn(self._extended_shape(sample_shape), dtype=self.df.dtype, device=self.df.device).tril(-1)
        factor = self._unbroadcasted_scale_tril @ (_C.diag_embed(diagonal) + below)
        return factor @ factor.mT

    def rsample(self, sample_shape=(), max_try_correction=None):
        """Draws with gradients. Singular ones are drawn again, up to max_try_correction times.

        None is 3 times, or 10 without validation of arguments; in compiled functions none.
        """
        if max_try_correction is None:
            max_try_correction = 3 if self._validate_args else 10
        sample = self._bartlett_sampling(_as_size(sample_shape))
        if _is_compiling():
            return sample
        for _ in range(max_try_correction):
            singular = ~is_positive_definite(sample)
            if not singular.any():
                break
            again = self._bartlett_sampling(_as_size(sample_shape))
            sample = _C.where(singular[..., None, None], again, sample)
        return sample

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        nu, p = self.df, self._event_shape[-1]
        factor = self._unbroadcasted_scale_tril
        inner = solve_triangular(factor, solve_triangular(factor, value).mT)  # L^-1 X L^-T, of the trace of V^-1 X
        return (
            -nu * (p * math.log(2) / 2 + log_determinant_of_factor(factor))
            - mvlgamma(nu / 2, p)
            + (nu - p - 1) * log_determinant_of_factor(cholesky(value))
            - inner.diagonal(dim1=-2, dim2=-1).sum(-1) / 2
        )

    def entropy(self):
        nu, p = self.df, self._event_shape[-1]
        half_log_det = log_determinant_of_factor(self._unbroadcasted_scale_tril)
        return (
            (p + 1) * (p * math.log(2) / 2 + half_log_det)
            + mvlgamma(nu / 2, p)
            - (nu - p - 1) / 2 * mvdigamma(nu / 2, p)
            + nu * p / 2
        )

    @property
    def _natural_params(self):
        return -self.precision_matrix / 2, (self.df - self._event_shape[-1] - 1) / 2

    def _log_normalizer(self, x, y):
        p = self._event_shape[-1]
        degrees = y + (p + 1) / 2
        return degrees * (p * math.log(2) - 2 * log_determinant_of_factor(cholesky(-2 * x))) + mvlgamma(degrees, p)


__getattr__ = _absent_names(__name__)
