"""torch.distributions.lkj_cholesky: Cholesky factors of correlation matrices."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from .._limits import finfo
from ..autograd.grad_mode import no_grad
from . import constraints
from .beta import Beta
from .distribution import Distribution
from .multivariate_gamma import mvlgamma
from .utils import _as_size, broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices C of `dim` variables, with densities as det(C)^(concentration - 1).

    Lewandowski, Kurowicka and Joe, "Generating random correlation matrices based on vines and extended onion method",
    2009; drawn by the onion method of its part 3. ValueError unless `dim` is an int of at least 2.
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if not isinstance(dim, int) or dim < 2:
            raise ValueError(f"dim of LKJCholesky has to be an int of at least 2, not {dim!r}")
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        super().__init__(self.concentration.size(), _as_size((dim, dim)), validate_args=validate_args)
        # Row k below the diagonal is a point of the unit ball of k dimensions. Its squared length is a Beta variable of
        # k / 2 (torch 2.13 has k - 1 / 2, with which correlations of three and more variables vary too much).
        row = _C.arange(dim - 1, dtype=self.concentration.dtype, device=self.concentration.device)
        row = _C.cat([row.new_zeros((1,)), row])
        last = self.concentration + 0.5 * (dim - 2)
        self._beta = Beta(0.5 * row + 0.5, last.unsqueeze(-1) - 0.5 * row)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LKJCholesky, _instance)
        batch_shape = _as_size(batch_shape)
        new.dim = self.dim
        new._beta = self._beta.expand(batch_shape + (self.dim,))
        return self._expand_parameters(LKJCholesky, batch_shape, new, "concentration")

    def sample(self, sample_shape=()):
        with no_grad():
            squared = self._beta.sample(sample_shape).unsqueeze(-1)
            shape = self._extended_shape(sample_shape)
            normal = _C.randn(shape, dtype=squared.dtype, device=squared.device).tril(-1)
            length = normal.square().sum(-1, keepdim=True).sqrt()
            direction = _C.where(length > 0, normal / length, _C.zeros_like(normal))
            below = squared.sqrt() * direction
            rest = (1 - below.square().sum(-1)).clamp(min=finfo(below.dtype).tiny).sqrt()
            return below + _C.diag_embed(rest)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = _C.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        below = self.dim - 1
        alpha = self.concentration + 0.5 * below
        normalizer = 0.5 * below * math.log(math.pi) + mvlgamma(alpha - 0.5, below) - alpha.lgamma() * below
        return (order * diagonal.log()).sum(-1) - normalizer


__getattr__ = _absent_names(__name__)
