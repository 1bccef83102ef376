"""The multivariate gamma function, which normalises densities of matrices."""

import math

from .. import _C
from .._absent import absent_names as _absent_names


def _shifted(x, p):
    """x, x - 1/2, ..., x - (p - 1) / 2, along a new last dimension."""
    return x.unsqueeze(-1) - 0.5 * _C.arange(p, dtype=x.dtype, device=x.device)


def mvlgamma(x, p):
    """log Gamma_p(x) = p (p - 1) / 4 log pi + sum of lgamma(x - j / 2) for j below p; of the shape of x."""
    return p * (p - 1) / 4 * math.log(math.pi) + _shifted(x, p).lgamma().sum(-1)


def mvdigamma(x, p):
    """Derivative of mvlgamma."""
    return _shifted(x, p).digamma().sum(-1)


__getattr__ = _absent_names(__name__)
