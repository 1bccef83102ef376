"""Images read at other positions: resized, or at any points (Jaderberg et al. 2015)."""

import warnings

from .. import _C
from .cubic_resampling import cubic_weights
from .window_functions import interpolate

GRID_SAMPLE_INTERPOLATION_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
GRID_SAMPLE_PADDING_MODES = {"zeros": 0, "border": 1, "reflection": 2}


@_C._overridable
def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate with the mode "nearest"; the old name of it."""
    warnings.warn("nn.functional.upsample_nearest is the old name of nn.functional.interpolate", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="nearest")


@_C._overridable
def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate with the mode "bilinear" and aligned corners; the old name of it."""
    warnings.warn("nn.functional.upsample_bilinear is the old name of nn.functional.interpolate", stacklevel=2)
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def _warn_of_corners(function):
    warnings.warn(f"{function}: align_corners is False unless it is given", stacklevel=3)


# --- points of affine maps


def _axis(size, align_corners, like):
    """Positions of the elements between -1 and 1."""
    if size == 1:
        return _C.zeros(1, dtype=like.dtype, device=like.device)
    between = _C.linspace(-1.0, 1.0, size, dtype=like.dtype, device=like.device)
    # Rounded after either step: the identity then meets the centres of elements as nearly as that of torch.
    return between if align_corners else between * (size - 1) / size


@_C._overridable
def affine_grid(theta, size, align_corners=None):
    """The points theta maps those of an output to, for grid_sample: (N, H, W, 2) of matrices (N, 2, 3), or
    (N, D, H, W, 3) of (N, 3, 4). `size` is that of the output, (N, C, H, W) or (N, C, D, H, W)."""
    if align_corners is None:
        _warn_of_corners("affine_grid")
        align_corners = False
    if not theta.is_floating_point():
        raise ValueError(f"affine_grid: theta has to be of floating point, got {theta.dtype}")
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(f"affine_grid: size has to be of 4 or 5 numbers, got {len(size)}")
    if list(theta.shape[1:]) != [dims, dims + 1] or theta.dim() != 3:
        raise ValueError(
            f"affine_grid: theta has to be (N, {dims}, {dims + 1}) for a size of {len(size)} numbers, got "
            f"{list(theta.shape)}"
        )
    if min(size) <= 0:
        raise ValueError(f"affine_grid: sizes have to be positive, got {list(size)}")
    axes = [_axis(n, align_corners, theta) for n in size[2:]]
    points = list(_C.meshgrid(*axes, indexing="ij"))[::-1]  # x, y, z
    base = _C.stack([*points, _C.ones_like(points[0])], -1).reshape(-1, dims + 1)
    return base.matmul(theta.transpose(1, 2)).view(theta.shape[0], *size[2:], dims)


# --- any points


def _unnormalized(x, size, align_corners):
    return (x + 1) * ((size - 1) / 2) if align_corners else ((x + 1) * size - 1) / 2


def _reflected(x, low, high):
    """Positions mirrored at low / 2 and high / 2 until they are between them."""
    if low == high:
        return x * 0
    start, span = low / 2, (high - low) / 2
    distance = (x - start).abs()
    extra = distance.fmod(span)
    flips = (distance.detach() / span).floor()
    return _C.where(flips % 2 == 0, extra + start, span - extra + start)


def _inside(x, size, padding_mode, align_corners):
    """Positions as the padding mode wants them; those for zeros stay."""
    if padding_mode == "reflection":
        x = _reflected(x, 0, 2 * (size - 1)) if align_corners else _reflected(x, -1, 2 * size - 1)
    if padding_mode != "zeros":
        x = x.clamp(0, size - 1)
    return x


def _values_at(input, places, zeros):
    """input[n, :, places] as (N, C, points); `places` has positions of every dimension, (N, points) of integers in
    floating point. Outside there is 0 if `zeros`, else they are inside."""
    sizes = input.shape[2:]
    index = valid = None
    for place, size in zip(places, sizes):
        within = (place >= 0) & (place <= size - 1)
        valid = within if valid is None else valid & within
        whole = place.clamp(0, size - 1).nan_to_num(0.0).long()
        index = whole if index is None else index * size + whole
    flat = input.flatten(2)
    found = flat.gather(2, index.unsqueeze(1).expand(-1, flat.shape[1], -1))
    return found.masked_fill(~valid.unsqueeze(1), 0.0) if zeros else found


def _linear(input, positions, zeros):
    corners = [((p.floor(), p.floor() + 1 - p), (p.floor() + 1, p - p.floor())) for p in positions]
    total = None
    for number in range(2 ** len(corners)):
        chosen = [corner[number >> k & 1] for k, corner in enumerate(corners)]
        weight = chosen[0][1]
        for _, factor in chosen[1:]:
            weight = weight * factor
        part = _values_at(input, [place for place, _ in chosen], zeros) * weight.unsqueeze(1)
        total = part if total is None else total + part
    return total


def _cubic(input, positions, settings):
    """Each of the 16 neighbours is brought inside on its own."""
    padding_mode, align_corners = settings
    height, width = input.shape[2:]
    (y, x), total = positions, None
    down, right = y.floor(), x.floor()
    for j, wy in enumerate(cubic_weights(y - down)):
        for i, wx in enumerate(cubic_weights(x - right)):
            place = (
                _inside(down + (j - 1), height, padding_mode, align_corners),
                _inside(right + (i - 1), width, padding_mode, align_corners),
            )
            part = _values_at(input, place, padding_mode == "zeros") * (wy * wx).unsqueeze(1)
            total = part if total is None else total + part
    return total


def _check_grid(input, grid, mode, padding_mode):
    if mode not in GRID_SAMPLE_INTERPOLATION_MODES:
        raise ValueError(f"grid_sample: mode is 'bilinear', 'nearest' or 'bicubic', not {mode!r}")
    if padding_mode not in GRID_SAMPLE_PADDING_MODES:
        raise ValueError(f"grid_sample: padding_mode is 'zeros', 'border' or 'reflection', not {padding_mode!r}")
    dims = input.dim() - 2
    if dims not in (2, 3) or grid.dim() != input.dim() or grid.shape[-1] != dims or grid.shape[0] != input.shape[0]:
        raise RuntimeError(
            "grid_sample: expected (N, C, H, W) with a grid (N, H', W', 2), or (N, C, D, H, W) with one "
            f"(N, D', H', W', 3), got {list(input.shape)} and {list(grid.shape)}"
        )
    if mode == "bicubic" and dims == 3:
        raise RuntimeError("grid_sample: bicubic is for inputs of 4 dimensions")
    if input.dtype != grid.dtype:
        raise RuntimeError(f"grid_sample: input and grid have to have one dtype, got {input.dtype} and {grid.dtype}")
    if 0 in input.shape[2:]:
        raise RuntimeError(f"grid_sample: there is nothing to read in {list(input.shape)}")


@_C._overridable
def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """Values of (N, C, H, W) at the points of `grid` (N, H', W', 2): (N, C, H', W'); or with a D and 3 numbers.

    A point is (x, y) or (x, y, z); -1 and 1 are the outer edges, or with `align_corners` the centres of the outer
    elements. Modes: "bilinear" (in three dimensions trilinear), "nearest", "bicubic" (a = -0.75). Outside there are
    zeros, the border, or the mirrored image ("reflection").
    """
    if align_corners is None:
        _warn_of_corners("grid_sample")
        align_corners = False
    _check_grid(input, grid, mode, padding_mode)
    sizes = input.shape[2:]
    points = grid.reshape(grid.shape[0], -1, len(sizes))
    positions = [_unnormalized(points[..., -1 - k], size, align_corners) for k, size in enumerate(sizes)]
    if mode == "bicubic":
        result = _cubic(input, positions, (padding_mode, align_corners))
    else:
        positions = [_inside(p, size, padding_mode, align_corners) for p, size in zip(positions, sizes)]
        zeros = padding_mode == "zeros"
        if mode == "nearest":
            result = _values_at(input, [p.round() for p in positions], zeros)
        else:
            result = _linear(input, positions, True)
    name = "GridSampler2D" if len(sizes) == 2 else "GridSampler3D"
    return _C._as_one_call(result.view(*input.shape[:2], *grid.shape[1:-1]), name, input, grid)
