"""Functions of torch's own namespace that are no methods of tensors: parts of LU factors, norms."""

from .. import _C
from . import spectra
from .arguments import takes_out
from .factors import lu_unpack as lu_unpack

_vector_norm = _C._namespaces["linalg"]["vector_norm"]


@_C._overridable
def nuclear_norm(input, dim=None, keepdim=False, *, out=None):
    """The sums of singular values of matrices in the dimensions `dim`, of a matrix by default."""
    return spectra.matrix_norm(input, "nuc", (-2, -1) if dim is None else tuple(dim), keepdim, out=out)


@takes_out
@_C._overridable
def frobenius_norm(input, dim, keepdim=False):
    """The roots of sums of squares over the dimensions `dim`, all of them for ()."""
    dims = [dim] if isinstance(dim, int) else list(dim)
    return _vector_norm(input, 2, dims or None, keepdim)


@_C._overridable
def norm_except_dim(v, pow=2, dim=0):
    """The norms of order `pow` over all dimensions but one, which are kept as 1; all of them for -1."""
    if dim == -1:
        return v.norm(pow)
    return _vector_norm(v, pow, [d for d in range(v.dim()) if d != dim % v.dim()], True)
