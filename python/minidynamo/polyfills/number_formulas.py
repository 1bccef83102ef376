"""Calls of ops with numbers that a graph does not know, written with ops that take numbers of the graph. Traced in the
place of such calls; NotImplemented: the number has to be a constant.
"""

from .. import _C

_HALVES = (_C.float16, _C.bfloat16)


def _wide(x):
    """Several steps are taken in float32 and rounded once."""
    return x.float() if x.dtype in _HALVES else x


def _floats(*tensors):
    return all([x.is_floating_point() and x.dtype == tensors[0].dtype for x in tensors])


def lerp(input, end, weight):
    if not _floats(input, end):
        return NotImplemented
    a, b = _wide(input), _wide(end)
    span = b - a
    near = _C.full((), 0.5, dtype=_C.float64) > abs(weight)
    return _C.where(near, a + weight * span, b - span * (1 - weight)).to(input.dtype)


def addcmul(input, tensor1, tensor2, *, value=1):
    if not _floats(input, tensor1, tensor2):
        return NotImplemented
    return (_wide(input) + _wide(tensor1) * value * _wide(tensor2)).to(input.dtype)


def addcdiv(input, tensor1, tensor2, *, value=1):
    if not _floats(input, tensor1, tensor2):
        return NotImplemented
    return (_wide(input) + _wide(tensor1) * value / _wide(tensor2)).to(input.dtype)


def _weighted_sum(input, product, beta, alpha):
    product = product * alpha
    return product if beta == 0 else input * beta + product


def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    if not _floats(input, mat1, mat2):
        return NotImplemented
    return _weighted_sum(input, _C.mm(mat1, mat2), beta, alpha)


def baddbmm(input, batch1, batch2, *, beta=1, alpha=1):
    if not _floats(input, batch1, batch2):
        return NotImplemented
    return _weighted_sum(input, _C.bmm(batch1, batch2), beta, alpha)


def leaky_relu(input, negative_slope=0.01):
    if not _floats(input):
        return NotImplemented
    x = _wide(input)
    return _C.where(x > 0, x, x * negative_slope).to(input.dtype)


def threshold(input, threshold, value):
    if not _floats(input):
        return NotImplemented
    x = _wide(input)
    return _C.where(x <= threshold, value, x).to(input.dtype)


def _exponential_unit(input, alpha, inner):
    x = _wide(input)
    low = _C.where(x <= 0, x, 0.0)
    return _C.where(x <= 0, (low * inner).expm1() * alpha, x).to(input.dtype)


def elu(input, alpha=1.0):
    return _exponential_unit(input, alpha, 1.0) if _floats(input) else NotImplemented


def celu(input, alpha=1.0):
    return _exponential_unit(input, alpha, 1 / alpha) if _floats(input) and alpha != 0 else NotImplemented


def hardtanh(input, min_val=-1.0, max_val=1.0):
    return input.clamp(min_val, max_val) if _floats(input) else NotImplemented


def softplus(input, beta=1, threshold=20):
    if not _floats(input):
        return NotImplemented
    x = _wide(input)
    scaled = x * beta
    smooth = scaled.clamp(max=threshold).exp().log1p() / beta
    return _C.where(scaled > threshold, x, smooth).to(input.dtype)


def softshrink(input, lambd=0.5):
    if not _floats(input) or not lambd >= 0:
        return NotImplemented
    x = _wide(input)
    low = _C.where(x < -lambd, x + lambd, x * 0)
    return _C.where(x > lambd, x - lambd, low).to(input.dtype)


def hardshrink(input, lambd=0.5):
    if not _floats(input):
        return NotImplemented
    return _C.where((input >= -lambd) & (input <= lambd), 0.0, input)


def pow(input, exponent):
    if not _C.is_tensor(input) or _C.is_tensor(exponent) or input.is_complex() or input.dtype == _C.bool:
        return NotImplemented
    if not input.is_floating_point() and exponent < 0:
        return NotImplemented
    return _C.pow(input, _C.full((), 1, dtype=input.dtype) * exponent).to(input.dtype)


def linspace(start, end, steps, *, dtype=None, device=None, requires_grad=False):
    chosen = _C.get_default_dtype() if dtype is None else dtype
    usual = chosen == _C.float32 and device is None and not requires_grad and steps > 1
    if not usual or _C.is_tensor(start) or _C.is_tensor(end):
        return NotImplemented
    a, b = _C.full((), 1.0) * start, _C.full((), 1.0) * end
    step = ((b - a) / (steps - 1)).double()
    i = _C.arange(steps, dtype=_C.float64)
    line = _C.where(i < steps // 2, a.double() + step * i, b.double() - step * (steps - 1 - i))
    return line.float()


def logspace(start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False):
    chosen = _C.get_default_dtype() if dtype is None else dtype
    usual = chosen == _C.float32 and device is None and not requires_grad and steps > 1
    if not usual or _C.is_tensor(start) or _C.is_tensor(end):
        return NotImplemented
    one = _C.full((), 1.0, dtype=_C.float64)
    a, b = one * start, one * end
    step = (b - a) / (steps - 1)
    i = _C.arange(steps, dtype=_C.float64)
    line = _C.where(i < steps // 2, a + step * i, b - step * (steps - 1 - i))
    return _C.pow(one * base, line).float()


def addmv(input, mat, vec, *, beta=1, alpha=1):
    if not _floats(input, mat, vec):
        return NotImplemented
    return _weighted_sum(input, _C.mv(mat, vec), beta, alpha)


def addr(input, vec1, vec2, *, beta=1, alpha=1):
    if not _floats(input, vec1, vec2):
        return NotImplemented
    return _weighted_sum(input, _C.outer(vec1, vec2), beta, alpha)


def addbmm(input, batch1, batch2, *, beta=1, alpha=1):
    if not _floats(input, batch1, batch2):
        return NotImplemented
    return _weighted_sum(input, _C.bmm(batch1, batch2).sum(0), beta, alpha)


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    if not _C.is_tensor(x) or not _floats(x) or dtype not in (None, x.dtype):
        return NotImplemented
    if x.requires_grad and _C.is_grad_enabled():  # the derivative of a norm knows what it is at zero
        return NotImplemented
    if ord == 2 or ord == 1 or ord <= 0:  # these norms are computed in other ways
        return NotImplemented
    dims = list(range(x.dim())) if dim is None else dim
    powers = _wide(x).abs() ** ord
    return (powers.sum(dims, keepdim) ** (1 / ord)).to(x.dtype)


def norm(input, p="fro", dim=None, keepdim=False, dtype=None):
    if isinstance(p, str) or p is None:
        return NotImplemented
    return vector_norm(input, p, dim, keepdim, dtype=dtype)


def dist(input, other, p=2):
    return vector_norm(input - other, p) if _floats(input, other) else NotImplemented


def scatter(input, dim, index, value, *, reduce=None):
    if not _floats(input) or _C.is_tensor(value) or reduce is not None:
        return NotImplemented
    return _C.scatter(input, dim, index, _C.full(index.shape, 1.0, dtype=input.dtype) * value)
