"""torch.distributions.studentT: means of normal samples over their estimated errors."""

import math

from .._absent import absent_names as _absent_names
from . import constraints
from .chi2 import Chi2
from .distribution import Distribution
from .utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """loc + scale * t, for Student's t with `df` degrees of freedom."""

    arg_constraints = {"df": constraints.positive, "loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(StudentT, _instance)
        new._chi2 = self._chi2.expand(batch_shape)
        return self._expand_parameters(StudentT, batch_shape, new, "df", "loc", "scale")

    @property
    def mean(self):
        """NaN for df <= 1."""
        return self.loc.masked_fill(self.df <= 1, float("nan"))

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        """inf for 1 < df <= 2, NaN below."""
        variance = self.scale.pow(2) * self.df / (self.df - 2)
        return variance.masked_fill(self.df <= 2, float("inf")).masked_fill(self.df <= 1, float("nan"))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        squares = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * (squares / self.df).rsqrt())

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        normalizer = self.scale.log() + 0.5 * (self.df * math.pi).log() + half.lgamma() - more.lgamma()
        return -more * (((value - self.loc) / self.scale).square() / self.df).log1p() - normalizer

    def entropy(self):
        half, more = 0.5 * self.df, 0.5 * (self.df + 1.0)
        log_beta = half.lgamma() + 0.5 * math.log(math.pi) - more.lgamma()
        return self.scale.log() + more * (more.digamma() - half.digamma()) + 0.5 * self.df.log() + log_beta


__getattr__ = _absent_names(__name__)
