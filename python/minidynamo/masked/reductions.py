"""What torch.masked computes: elements where the mask is False count as if they were not there."""

import builtins

from .. import _C


def _lowest(dtype):
    from .._limits import iinfo

    return -float("inf") if dtype.is_floating_point else False if dtype == _C.bool else iinfo(dtype).min


def _highest(dtype):
    from .._limits import iinfo

    return float("inf") if dtype.is_floating_point else True if dtype == _C.bool else iinfo(dtype).max


def _filled(input, mask, value):
    """The input with `value` where the mask, which is broadcast, is False."""
    if mask is None:
        return input
    if not isinstance(mask, _C.Tensor):
        raise TypeError(f"torch.masked: mask must be a tensor, not {type(mask).__name__}")
    if mask.dim() > input.dim():
        raise IndexError(
            f"torch.masked: a mask of {mask.dim()} dimensions is for an input of as many, got {input.dim()}"
        )
    return _C.where(mask.to(_C.bool), input, _C.full((), value, dtype=input.dtype, device=input.device))


def _dims(input, dim):
    if dim is None or (isinstance(dim, (tuple, list)) and not dim):
        return tuple(range(input.dim()))
    dims = (dim,) if isinstance(dim, int) else tuple(dim)
    for d in dims:
        if not -max(input.dim(), 1) <= d < max(input.dim(), 1):
            raise IndexError(f"torch.masked: dim {d} is out of range for {input.dim()} dimensions")
    wrapped = tuple([d % input.dim() for d in dims]) if input.dim() else ()
    if len(set(wrapped)) != len(wrapped):
        raise RuntimeError(f"torch.masked: a dim appears twice in {dims}")
    return wrapped


def _sum_dtype(input, dtype):
    if dtype is not None:
        return dtype
    return input.dtype if input.dtype.is_floating_point or input.dtype.is_complex else _C.int64


def _count(input, dims, keepdim, mask):
    """How many elements are there."""
    if mask is None:
        ones = _C.ones(input.shape, dtype=_C.int64, device=input.device)
    else:
        ones = mask.to(_C.bool).broadcast_to(input.shape).to(_C.int64)
    return ones.sum(dims, keepdim=keepdim) if dims else ones


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum of the elements that are there; 0 of none."""
    x = _filled(input.to(_sum_dtype(input, dtype)), mask, 0)
    dims = _dims(input, dim)
    return x.sum(dims, keepdim=bool(keepdim)) if dims else x.clone()


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The product of the elements that are there; 1 of none."""
    x = _filled(input.to(_sum_dtype(input, dtype)), mask, 1)
    for d in sorted(_dims(input, dim), reverse=True):
        x = x.prod(d, keepdim=bool(keepdim))
    return x


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The largest element; of none the lowest value of the dtype."""
    x = input if dtype is None else input.to(dtype)
    return _C.amax(_filled(x, mask, _lowest(x.dtype)), _dims(input, dim), bool(keepdim))


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The smallest element; of none the highest value of the dtype."""
    x = input if dtype is None else input.to(dtype)
    return _C.amin(_filled(x, mask, _highest(x.dtype)), _dims(input, dim), bool(keepdim))


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the largest element is, as a number of the input's dtype."""
    x = input if dtype is None else input.to(dtype)
    return _filled(x, mask, _lowest(x.dtype)).argmax(dim, bool(keepdim)).to(x.dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """Where the smallest element is, as a number of the input's dtype."""
    x = input if dtype is None else input.to(dtype)
    return _filled(x, mask, _highest(x.dtype)).argmin(dim, bool(keepdim)).to(x.dtype)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The sum over the number of elements that are there; NaN of none."""
    x = input if dtype is None else input.to(dtype)
    if not (x.dtype.is_floating_point or x.dtype.is_complex):
        raise ValueError(f"torch.masked.mean: a floating or complex dtype is needed, got {x.dtype}; give dtype=")
    dims = _dims(x, dim)
    total = sum(x, dims, keepdim=keepdim, mask=mask)
    return total / _count(x, dims, bool(keepdim), mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    """The lower median of the elements that are there; NaN of none."""
    x = input if dtype is None else input.to(dtype)
    if not x.dtype.is_floating_point:
        if mask is not None and not mask.all():
            raise ValueError("torch.masked.median: integers have no value for what is masked out")
        return x.median(dim, bool(keepdim)).values
    return _filled(x, mask, float("nan")).nanmedian(dim, bool(keepdim)).values


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    """log(sum(exp(x))) of the elements that are there; -inf of none."""
    x = input if dtype is None else input.to(dtype)
    return _C.logsumexp(_filled(x, mask, _lowest(x.dtype)), _dims(x, dim), bool(keepdim))


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    """log(exp(input) + exp(other)); what is masked out counts as log(0)."""
    x, y = (t if dtype is None else t.to(dtype) for t in (input, other))
    return _C.logaddexp(_filled(x, input_mask, -float("inf")), _filled(y, other_mask, -float("inf")))


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    """The norm of the elements that are there, as a vector."""
    from .. import linalg

    x = input if dtype is None else input.to(dtype)
    return linalg.vector_norm(_filled(x, mask, float("inf") if ord < 0 else 0), ord, _dims(x, dim), bool(keepdim))


def _spread(input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise RuntimeError("torch.masked: unbiased and correction are two ways to say the same")
    if correction is None:
        correction = 1 if unbiased is None or unbiased else 0
    x = input if dtype is None else input.to(dtype)
    if not x.dtype.is_floating_point:
        x = x.to(_C.float32)
    dims = _dims(x, dim)
    count = _count(x, dims, True, mask)
    centre = sum(x, dims, keepdim=True, mask=mask) / count
    away = sum((x - centre) ** 2, dims, keepdim=keepdim, mask=mask)
    if not keepdim:
        count = count.reshape(away.shape)
    return away / (count - correction).clamp(min=0)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The variance of the elements that are there."""
    return _spread(input, dim, unbiased, correction, bool(keepdim), dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    """The standard deviation of the elements that are there."""
    return _spread(input, dim, unbiased, correction, bool(keepdim), dtype, mask).sqrt()


def cumsum(input, dim, *, dtype=None, mask=None):
    """Running sums."""
    return _filled(input.to(_sum_dtype(input, dtype)), mask, 0).cumsum(_dims(input, dim)[0])


def cumprod(input, dim, *, dtype=None, mask=None):
    """Running products."""
    return _filled(input.to(_sum_dtype(input, dtype)), mask, 1).cumprod(_dims(input, dim)[0])


def softmax(input, dim, *, dtype=None, mask=None):
    """Softmax over the elements that are there; 0 for others, NaN where there are none."""
    x = input if dtype is None else input.to(dtype)
    return _C.softmax(_filled(x, mask, -float("inf")), _dims(x, dim)[0])


def log_softmax(input, dim, *, dtype=None, mask=None):
    """The logarithm of softmax()."""
    x = input if dtype is None else input.to(dtype)
    return _C.log_softmax(_filled(x, mask, -float("inf")), _dims(x, dim)[0])


def softmin(input, dim, *, dtype=None, mask=None):
    """softmax() of the negated input."""
    x = input if dtype is None else input.to(dtype)
    return _C.softmax(-_filled(x, mask, float("inf")), _dims(x, dim)[0])


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    """The elements over their norm, which is at least `eps`."""
    x = input if dtype is None else input.to(dtype)
    size = norm(x, ord, dim, keepdim=True, mask=mask)
    return _filled(x, mask, 0) / _C.maximum(size, size.new_full((), builtins.float(eps)))
