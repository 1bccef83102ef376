"""Resizing in two dimensions by kernels: cubic convolution, and kernels that widen where the image gets smaller."""

import math

from .. import _C
from .arguments import each, in_format_of


def cubic_weights(t, a=-0.75):
    """Weights of the neighbours at -1, 0, 1 and 2 for a position t in [0, 1) between those at 0 and 1 (Keys 1981)."""

    def near(x):
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x):
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return far(t + 1), near(t), near(1 - t), far(2 - t)


def _kernel_of(distance, mode):
    """The kernel's height at these distances from its centre, for the widened kernels: a = -0.5 if cubic."""
    x = distance.abs()
    if mode == "bilinear":
        return (1 - x).clamp_min(0)
    a = -0.5
    near = ((a + 2) * x - (a + 3)) * x * x + 1
    far = ((x - 5) * x + 8) * x * a - 4 * a
    return _C.where(x < 1, near, _C.where(x < 2, far, 0.0))


def _matrix(size, wanted, scale, mode, align_corners, antialias):
    """(wanted, size) of float64: what each output is made of."""
    out = _C.arange(wanted, dtype=_C.float64, device="cpu")
    if antialias:
        centre = (out + 0.5) * scale
        width = max(scale, 1.0)
        support = (1.0 if mode == "bilinear" else 2.0) * width
        element = _C.arange(size, dtype=_C.float64, device="cpu")
        first, last = (centre - support + 0.5).trunc().clamp_min(0), (centre + support + 0.5).trunc().clamp_max(size)
        height = _kernel_of((element - centre.unsqueeze(1) + 0.5) / width, mode)
        height = height * ((element >= first.unsqueeze(1)) & (element < last.unsqueeze(1))).to(_C.float64)
        return height / height.sum(1, keepdim=True)
    position = out * scale if align_corners else (out + 0.5) * scale - 0.5
    base = position.floor()
    matrix = _C.zeros(wanted, size, dtype=_C.float64, device="cpu")
    for k, weight in enumerate(cubic_weights(position - base)):
        place = (base + (k - 1)).clamp(0, size - 1).long()
        matrix = matrix.scatter_add(1, place.unsqueeze(1), weight.unsqueeze(1))
    return matrix


def _sizes(input, size, scale_factor, recompute_scale_factor):
    """(wanted sizes, factors to compute with or None for those of the sizes)."""
    if (size is None) == (scale_factor is None):
        raise ValueError("interpolate: one of size and scale_factor has to be given, and only one")
    if size is not None:
        if recompute_scale_factor:
            raise ValueError("interpolate: recompute_scale_factor goes with scale_factor, not with size")
        return each(size, 2), (None, None)
    factors = each(scale_factor, 2)
    wanted = tuple([math.floor(float(have) * factor) for have, factor in zip(input.shape[2:], factors)])
    return wanted, (None, None) if recompute_scale_factor else factors


def _scale(have, want, factor, align_corners):
    if align_corners:
        return (have - 1) / (want - 1) if want > 1 else 0.0
    return 1.0 / factor if factor else have / want


def resampled(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias):
    """interpolate() for "bicubic", and with `antialias`: each dimension is multiplied by a matrix."""
    if input.dim() != 4:
        raise NotImplementedError(
            f"interpolate: mode {mode!r}{' with antialias' if antialias else ''} is for (N, C, H, W), got "
            f"{input.dim()} dimensions"
        )
    if mode not in ("bilinear", "bicubic"):
        raise ValueError("interpolate: antialias goes with the modes 'bilinear' and 'bicubic' only")
    wanted, factors = _sizes(input, size, scale_factor, recompute_scale_factor)
    if min(wanted) <= 0 or min(input.shape[2:]) <= 0:
        raise RuntimeError(f"interpolate: sizes have to be positive, got {list(input.shape[2:])} and {list(wanted)}")
    work = _C.float32 if input.dtype in (_C.float16, _C.bfloat16) else input.dtype
    result = input.to(work)
    for dim in (3, 2):
        have, want = input.shape[dim], wanted[dim - 2]
        scale = _scale(have, want, factors[dim - 2], align_corners)
        matrix = _matrix(have, want, scale, mode, align_corners, antialias).to(work)
        matrix = matrix if input.is_cpu else matrix.to(input.device)
        result = result.matmul(matrix.t()) if dim == 3 else matrix.matmul(result)
    name = f"Upsample{mode.capitalize()}2D{'Aa' if antialias else ''}"
    return _C._as_one_call(in_format_of(input, result.to(input.dtype)), name, input)
