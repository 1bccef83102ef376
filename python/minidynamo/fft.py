"""torch.fft: discrete Fourier transforms, made of one operator for complex tensors and differentiable as that is.

`norm` says which way is divided by the number of points: "backward" (as None) the inverse one, "forward" the other,
"ortho" each by its root. Sizes (`n`, `s`) cut what is transformed, or extend it by zeros. Real operands are promoted;
of half spectra (`rfft` and its inverses) only the part is kept from which the rest follows.
"""

import math

from . import _C
from ._absent import absent_names as _absent_names

__all__ = """
    fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 hfft2 ihfft2 fftn ifftn rfftn irfftn hfftn ihfftn
    fftfreq rfftfreq fftshift ifftshift
""".split()


def _scale(norm, count, inverse):
    if norm not in (None, "backward", "forward", "ortho"):
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1.0 / math.sqrt(count)
    return 1.0 / count if inverse == (norm != "forward") else 1.0


def _floating(input, name):
    """The tensor in the dtype whose complex one the result has."""
    if input.is_complex() or input.dtype in (_C.float32, _C.float64):
        return input
    if input.is_floating_point():
        raise RuntimeError(f"Unsupported dtype {input.dtype} of {name}()")
    return input.to(_C.get_default_dtype())


def _complex(input, name):
    input = _floating(input, name)
    return input if input.is_complex() else input.to(input.dtype.to_complex())


def _real(input, name):
    if input.is_complex():
        raise RuntimeError(f"{name} expects a real input tensor, but got {input.dtype}")
    return _floating(input, name)


def _wrapped(input, dim):
    rank = input.dim()
    if not -rank <= dim < rank:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(rank, 1)}, {max(rank, 1) - 1}], but got {dim})"
        )
    return dim % rank


def _points(size, count):
    size = count if size is None else size
    if size < 1:
        raise RuntimeError(f"Invalid number of data points ({size}) specified")
    return size


def _resized(input, dim, size):
    """With `size` places of a dimension: cut, or zeros behind."""
    have = input.shape[dim]
    if have == size:
        return input
    if have > size:
        return input.narrow(dim, 0, size)
    sizes = list(input.shape)
    sizes[dim] = size - have
    return _C.cat([input, input.new_zeros(sizes)], dim)


def _axes(input, s, dim):
    """The dimensions that are transformed, and the size of each there (None: as it is)."""
    rank = input.dim()
    if isinstance(dim, int):
        dim = (dim,)
    if isinstance(s, int):
        s = (s,)
    if dim is not None:
        dims = [_wrapped(input, d) for d in dim]
        if len(set(dims)) != len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > rank:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {rank} dimensions.")
        dims = list(range(rank - len(s), rank))
    else:
        dims = list(range(rank))
    sizes = [None] * len(dims) if s is None else [None if size == -1 else size for size in s]
    return dims, sizes


def _laid_out(made, input, dims):
    """The result in torch's order in memory: the dimensions that were not transformed as they lie in the input, then
    `dims`."""
    strides = input.stride()
    others = sorted([d for d in range(input.dim()) if d not in dims], key=lambda d: -strides[d])
    order = [*others, *dims]
    if order == list(range(len(order))):
        return made.contiguous()
    return made.permute(order).contiguous().permute([order.index(d) for d in range(len(order))])


def _by_stride(input, dims):
    strides = input.stride()
    return sorted(dims, key=lambda d: -strides[d])


def _transformed(input, dims, sizes, norm, inverse):
    """A complex tensor along dimensions, each with a number of points."""
    count = 1
    for d, size in zip(dims, sizes):
        size = _points(size, input.shape[d])
        input = _resized(input, d, size)
        count *= size
    if not dims:
        return input
    made = _C._fourier(input, dims, inverse, _scale(norm, count, inverse))
    return _laid_out(made, input, _by_stride(input, dims))


def _half(input, dims, sizes, norm, inverse):
    """Of real values: half of the last dimension holds all."""
    transformed = _transformed(input.to(input.dtype.to_complex()), dims, sizes, norm, inverse)
    half = transformed.narrow(dims[-1], 0, transformed.shape[dims[-1]] // 2 + 1)
    return _laid_out(half, input, [*_by_stride(input, dims[:-1]), dims[-1]])


def _from_half(input, dims, sizes, norm, divides):
    """Real values by the inverse transform of what half of the last dimension tells: the rest is the conjugate, turned
    about. `divides`: whether they are divided as the inverse is."""
    last, others = dims[-1], dims[:-1]
    size = _points(sizes[-1], 2 * (input.shape[last] - 1))
    count = size
    for d, points in zip(others, sizes[:-1]):
        count *= _points(points, input.shape[d])
        input = _resized(input, d, _points(points, input.shape[d]))
    scale = _scale(norm, count, divides)
    if others:
        input = _laid_out(_C._fourier(input, others, True, 1.0), input, _by_stride(input, others))
    given = input
    input = _resized(input, last, size // 2 + 1)
    rest = (size - 1) // 2
    if rest:
        input = _C.cat([input, input.narrow(last, 1, rest).flip(last).conj()], last)
    return _laid_out(_C._fourier(input, [last], True, scale).real, given, [last])


def _given(result, out):
    if out is None:
        return result
    if out.shape != result.shape:
        out.resize_(result.shape)
    return out.copy_(result)


def fft(input, n=None, dim=-1, norm=None, *, out=None):
    """The transform along one dimension, complex."""
    return _given(_transformed(_complex(input, "fft"), [_wrapped(input, dim)], [n], norm, False), out)


def ifft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of fft()."""
    return _given(_transformed(_complex(input, "ifft"), [_wrapped(input, dim)], [n], norm, True), out)


def rfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The first half of the transform of real values: n // 2 + 1 places."""
    return _given(_half(_real(input, "rfft"), [_wrapped(input, dim)], [n], norm, False), out)


def irfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of rfft(): n real values, an even number unless told."""
    return _given(_from_half(_complex(input, "irfft"), [_wrapped(input, dim)], [n], norm, True), out)


def hfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The real transform of values of which half is given, since the others are their conjugates."""
    return _given(_from_half(_complex(input, "hfft").conj(), [_wrapped(input, dim)], [n], norm, False), out)


def ihfft(input, n=None, dim=-1, norm=None, *, out=None):
    """The inverse of hfft(): half of what a real spectrum comes from."""
    return _given(_half(_real(input, "ihfft"), [_wrapped(input, dim)], [n], norm, True), out)


def fftn(input, s=None, dim=None, norm=None, *, out=None):
    """fft() along several dimensions."""
    return _given(_transformed(_complex(input, "fftn"), *_axes(input, s, dim), norm, False), out)


def ifftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of fftn()."""
    return _given(_transformed(_complex(input, "ifftn"), *_axes(input, s, dim), norm, True), out)


def _some_axes(input, s, dim, name):
    dims, sizes = _axes(input, s, dim)
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")
    return dims, sizes


def rfftn(input, s=None, dim=None, norm=None, *, out=None):
    """fftn() of real values; of the last dimension the first half."""
    return _given(_half(_real(input, "rfftn"), *_some_axes(input, s, dim, "rfftn"), norm, False), out)


def irfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of rfftn()."""
    return _given(_from_half(_complex(input, "irfftn"), *_some_axes(input, s, dim, "irfftn"), norm, True), out)


def hfftn(input, s=None, dim=None, norm=None, *, out=None):
    """hfft() along the last of several dimensions, fft() along the others."""
    dims, sizes = _some_axes(input, s, dim, "hfftn")
    input = _complex(input, "hfftn")
    last, count = dims[-1], 1
    for d, points in zip(dims[:-1], sizes[:-1]):
        count *= _points(points, input.shape[d])
        input = _resized(input, d, _points(points, input.shape[d]))
    if len(dims) > 1:
        made = _C._fourier(input, dims[:-1], False, _scale(norm, count, False))
        input = _laid_out(made, input, _by_stride(input, dims[:-1]))
    return _given(_from_half(input.conj(), [last], [sizes[-1]], norm, False), out)


def ihfftn(input, s=None, dim=None, norm=None, *, out=None):
    """The inverse of hfftn()."""
    dims, sizes = _some_axes(input, s, dim, "ihfftn")
    half = _half(_real(input, "ihfftn"), [dims[-1]], [sizes[-1]], norm, True)
    return _given(_transformed(half, dims[:-1], sizes[:-1], norm, True), out)


def fft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """fftn() along two dimensions."""
    return fftn(input, s, dim, norm, out=out)


def ifft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """ifftn() along two dimensions."""
    return ifftn(input, s, dim, norm, out=out)


def rfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """rfftn() along two dimensions."""
    return rfftn(input, s, dim, norm, out=out)


def irfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """irfftn() along two dimensions."""
    return irfftn(input, s, dim, norm, out=out)


def hfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """hfftn() along two dimensions."""
    return hfftn(input, s, dim, norm, out=out)


def ihfft2(input, s=None, dim=(-2, -1), norm=None, *, out=None):
    """ihfftn() along two dimensions."""
    return ihfftn(input, s, dim, norm, out=out)


def _frequencies(places, n, d, dtype, requires_grad):
    dtype = _C.get_default_dtype() if dtype is None else dtype
    return (places.to(dtype) * (1.0 / (n * d))).requires_grad_(requires_grad)


def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequency of each place of fft(): 0, 1, ..., then the negative ones, over n * d."""
    places = _C.cat([_C.arange((n + 1) // 2, device=device), _C.arange(-(n // 2), 0, device=device)])
    return _given(_frequencies(places, n, d, dtype, requires_grad), out)


def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=None, device=None, requires_grad=False):
    """The frequency of each place of rfft()."""
    return _given(_frequencies(_C.arange(n // 2 + 1, device=device), n, d, dtype, requires_grad), out)


def _shifted(input, dim, by):
    if dim is None:
        dim = range(input.dim())
    elif isinstance(dim, int):
        dim = (dim,)
    dims = list(dim)
    return input.roll([by(input.shape[d]) for d in dims], dims) if dims else input.clone()


def fftshift(input, dim=None):
    """Frequency 0 in the middle."""
    return _shifted(input, dim, lambda size: size // 2)


def ifftshift(input, dim=None):
    """The inverse of fftshift()."""
    return _shifted(input, dim, lambda size: (size + 1) // 2)


for _name in __all__:
    globals()[_name] = _C._overridable(globals()[_name])
__getattr__ = _absent_names(__name__)
