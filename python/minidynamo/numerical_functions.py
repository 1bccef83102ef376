"""Statistics and numerical calculus of torch's own namespace, made of ops: gradients flow, in compiled code too."""

import itertools
import warnings

from . import _C
from ._absent import absent_names as _absent_names
from .linalg.matrices import result_type

_Parts = result_type("frexp", "mantissa exponent")


@_C._overridable
def cov(input, *, correction=1, fweights=None, aweights=None):
    """Covariances of the rows of `input`, variables, over its columns, observations: (v, n) to (v, v), (n,) to ().

    Observations count fweights (whole numbers) times, and aweights much; the sum is divided by their sum less
    `correction`, with aweights less correction * sum(fweights * aweights^2) / that sum, and by 0 if that is negative.
    """
    if input.dim() > 2:
        raise RuntimeError(f"cov(): expected input to have two or fewer dimensions but got {input.dim()} dimensions")
    x = input.reshape(-1, input.shape[-1] if input.dim() else 1)
    x = x if x.is_floating_point() or x.is_complex() else x.to(_C.get_default_dtype())
    count = x.shape[-1]
    weights = _weights(count, fweights, aweights)
    total = count if weights is None else weights.sum()
    mean = x.mean(-1, keepdim=True) if weights is None else (x * weights).sum(-1, keepdim=True) / total
    if aweights is None:
        divisor = total - correction
    else:
        divisor = total - correction * (weights * aweights).sum() / total
    if bool(divisor <= 0):
        warnings.warn(
            "cov(): degrees of freedom is <= 0. Correction should be less than the observations", stacklevel=2
        )
        divisor = 0 * divisor
    centred = x - mean
    weighted = centred if weights is None else centred * weights
    return (weighted @ centred.mT.conj() / divisor).squeeze()


def _weights(count, fweights, aweights):
    for weights, name in ((fweights, "fweights"), (aweights, "aweights")):
        if weights is not None and (weights.dim() > 1 or weights.numel() != count):
            raise RuntimeError(f"cov(): {name} has to be a vector of {count} weights, one for each observation")
    if fweights is not None and (fweights.is_floating_point() or fweights.dtype is _C.bool):
        raise RuntimeError(f"cov(): expected fweights to have integral dtype but got {fweights.dtype}")
    if aweights is not None and not aweights.is_floating_point():
        raise RuntimeError(f"cov(): expected aweights to have floating point dtype but got {aweights.dtype}")
    if fweights is None or aweights is None:
        return aweights if fweights is None else fweights
    return fweights * aweights


@_C._overridable
def corrcoef(input):
    """Pearson's correlations of the rows: cov() divided by both standard deviations, from -1 to 1."""
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got {input.dim()} dimensions"
        )
    c = cov(input)
    if c.dim() == 0:
        return c / c
    deviations = c.diagonal().real.sqrt()
    c = c / deviations.unsqueeze(-1) / deviations
    return _C.complex(c.real.clamp(-1, 1), c.imag.clamp(-1, 1)) if c.is_complex() else c.clamp(-1, 1)


@_C._overridable
def cumulative_trapezoid(y, x=None, *, dx=None, dim=-1):
    """Integrals of `y` along `dim` up to each place but the first, by the trapezoidal rule: one element fewer.

    At places `x`, a vector or of y's sizes, or `dx` apart (1 by default). TypeError for both.
    """
    if x is not None and dx is not None:
        raise TypeError("cumulative_trapezoid() takes x or dx, not both")
    count = y.shape[dim]
    if count == 0:
        return y.new_empty([0 if d == dim % y.dim() else size for d, size in enumerate(y.shape)])
    sums = y.narrow(dim, 1, count - 1) + y.narrow(dim, 0, count - 1)
    if x is None:
        return (sums * ((1 if dx is None else dx) / 2)).cumsum(dim)
    if x.dim() == 1 and y.dim() > 1:
        x = x.reshape([-1 if d == dim % y.dim() else 1 for d in range(y.dim())])
    return (sums * x.diff(dim=dim) / 2).cumsum(dim)


@_C._overridable
def combinations(input, r=2, with_replacement=False):
    """All choices of `r` elements of a vector in their order, as rows: as itertools makes them."""
    if input.dim() != 1:
        raise RuntimeError(f"combinations: Expect a 1D vector, but got shape {list(input.shape)}")
    if r < 0:
        raise RuntimeError(f"combinations: Expect a non-negative number, but got {r}")
    if r == 0:
        return input.new_empty(0)
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = [list(row) for row in choose(range(input.shape[0]), r)]
    return input[_C.tensor(rows, dtype=_C.int64, device=input.device)] if rows else input.new_empty((0, r))


@_C._overridable
def vander(x, N=None, *, increasing=False):
    """Rows of `N` powers of the elements of a vector, as many as it has by default; descending unless `increasing`."""
    if x.dim() != 1:
        raise RuntimeError("vander(): x must be a one-dimensional tensor.")
    powers = _C.arange(x.shape[0] if N is None else N, device=x.device)
    return x.unsqueeze(-1) ** (powers if increasing else powers.flip(0))


@_C._overridable
def isin(elements, test_elements, *, assume_unique=False, invert=False):
    """Bool tensor of the sizes of `elements`: whether each is among test_elements (or is not, with `invert`).

    Either may be a number. `assume_unique` changes nothing but how fast it could be.
    """
    if not isinstance(elements, _C.Tensor) and not isinstance(test_elements, _C.Tensor):
        raise TypeError("isin(): elements or test_elements has to be a Tensor")
    device = (elements if isinstance(elements, _C.Tensor) else test_elements).device
    elements = elements if isinstance(elements, _C.Tensor) else _C.tensor(elements, device=device)
    among = test_elements if isinstance(test_elements, _C.Tensor) else _C.tensor(test_elements, device=device)
    found = (elements.unsqueeze(-1) == among.reshape(-1)).any(-1) if among.numel() < 64 else _among(elements, among)
    return ~found if invert else found


def _among(elements, among):
    dtype = _C.promote_types(elements.dtype, among.dtype)
    ordered = among.reshape(-1).to(dtype).sort()[0]
    places = _C.searchsorted(ordered, elements.to(dtype).contiguous()).clamp_max(ordered.shape[0] - 1)
    return ordered[places] == elements


@_C._overridable
def gradient(input, *, spacing=1, dim=None, edge_order=1):
    """Derivatives along each of `dim` (all by default) by central differences, at the ends by the difference inwards.

    `spacing`: the distance of places, one for each dimension, or tensors of the places themselves. Inside, that is the
    derivative of the quadratic through three places. `edge_order` 2 is not here.
    """
    if edge_order != 1:
        raise NotImplementedError("gradient(): edge_order is 1 here")
    dims = range(input.dim()) if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    spacings = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(spacings) != len(dims):
        raise RuntimeError(f"gradient(): spacing has to be one, or one for each of {len(dims)} dimensions")
    return tuple([_derivative(input, d % input.dim(), s) for d, s in zip(dims, spacings)])


def _derivative(y, dim, spacing):
    count = y.shape[dim]
    if count < 2:
        raise RuntimeError("gradient(): each dimension needs at least 2 places")
    slopes = y.diff(dim=dim)
    if not isinstance(spacing, _C.Tensor):
        slopes = slopes / spacing
        inner = (slopes.narrow(dim, 0, count - 2) + slopes.narrow(dim, 1, count - 2)) / 2
    else:
        distances = spacing.diff().reshape([-1 if d == dim else 1 for d in range(y.dim())])
        slopes = slopes / distances
        before, after = distances.narrow(dim, 0, count - 2), distances.narrow(dim, 1, count - 2)
        mixed = slopes.narrow(dim, 0, count - 2) * after + slopes.narrow(dim, 1, count - 2) * before
        inner = mixed / (before + after)
    return _C.cat([slopes.narrow(dim, 0, 1), inner, slopes.narrow(dim, count - 2, 1)], dim)


@_C._overridable
def frexp(input, *, out=None):
    """(m, e) with input = m * 2**e and |m| from 0.5 up to 1, e int32; 0 is (0, 0). Gradients flow to m."""
    if not input.is_floating_point():
        raise RuntimeError("torch.frexp() only supports floating-point dtypes")
    x = input.to(_C.float64)
    small = x.detach().abs() < 2.0**-1000  # those without a whole mantissa among them
    x = _C.where(small, x * 2.0**54, x)
    fields = (x.detach().view(_C.int64) >> 52) & 0x7FF
    ends = (x.detach() == 0) | (fields == 0x7FF)
    exponent = _C.where(ends, 0, fields - 1022)
    scale = ((1025 - exponent) << 52).view(_C.float64)  # 2^(2 - e)
    mantissa = _C.where(ends, x, x * 0.25 * scale).to(input.dtype)
    made = _Parts(mantissa, _C.where(ends, 0, exponent - _C.where(small, 54, 0)).to(_C.int32))
    return made if out is None else _Parts(*[each.resize_(part.shape).copy_(part) for each, part in zip(out, made)])


@_C._overridable
def nonzero_static(input, *, size, fill_value=-1, out=None):
    """The first `size` rows of nonzero(); where there are fewer, rows of `fill_value`."""
    if size < 0:
        raise RuntimeError("nonzero_static: 'size' must be an non-negative integer")
    there = (input != 0).reshape(-1)
    order = there.cumsum(0) - 1
    rows = _C.where(there & (order < size), order, size)
    places = _C.full((size + 1,), -1, dtype=_C.int64, device=input.device)
    places = places.scatter(0, rows, _C.arange(there.shape[0], device=input.device))[:size]
    columns = [_C.where(places < 0, fill_value, place) for place in _coordinates(places, input.shape)]
    found = _C.stack(columns, -1) if columns else places.new_empty((size, 0))
    return found if out is None else out.resize_(found.shape).copy_(found)


def _coordinates(places, sizes):
    found, stride = [], 1
    for size in reversed(sizes):
        found.append(places.div(stride, rounding_mode="floor") % max(size, 1))
        stride *= size
    return found[::-1]


__getattr__ = _absent_names(__name__)
