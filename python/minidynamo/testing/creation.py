"""make_tensor: random tensors of any dtype for tests."""

import math

from .. import _C
from .._limits import finfo, iinfo

# dtypes that are not floats: the default range.
_RANGES = {_C.bool: (0, 2), _C.uint8: (0, 10)}
_INTEGERS = (_C.int8, _C.int16, _C.int32, _C.int64)
_FLOATS = (_C.float16, _C.bfloat16, _C.float32, _C.float64)


def _range(dtype, low, high):
    """The numbers to draw from, [low, high), within what the dtype can hold."""
    is_float = dtype in _FLOATS
    default = (-9, 9) if is_float else _RANGES.get(dtype, (-9, 10))
    low, high = (d if given is None else given for d, given in zip(default, (low, high)))
    if any(isinstance(bound, float) and math.isnan(bound) for bound in (low, high)):
        raise ValueError(f"make_tensor: NaN is no bound, got low={low} and high={high}")
    if is_float and low == high:
        import warnings

        warnings.warn("make_tensor: `low` should be less than `high`", FutureWarning, stacklevel=4)
    elif low >= high:
        raise ValueError(f"make_tensor: low has to be below high, got {low} and {high}")
    if is_float:
        least, most = finfo(dtype).min, finfo(dtype).max
    elif dtype == _C.bool:
        least, most = 0, 2
    else:
        least, most = iinfo(dtype).min, iinfo(dtype).max + (dtype != _C.int64)
    if high < least or low > most:
        raise ValueError(f"make_tensor: nothing in [{low}, {high}) is a {dtype}")
    low, high = max(low, least), min(high, most)
    return (low, high) if is_float else (math.ceil(low), math.ceil(high))


def make_tensor(
    *shape,
    dtype,
    device,
    low=None,
    high=None,
    requires_grad=False,
    noncontiguous=False,
    exclude_zero=False,
    memory_format=None,
):
    """A tensor of the sizes with elements drawn uniformly from [low, high).

    By default from [-9, 9) for floats, [-9, 10) for integers, [0, 10) for uint8, both of bool. With `exclude_zero`
    zeros become 1, or the smallest normal float. `noncontiguous`: only every other element of the last dimension's
    memory is used. `memory_format`: the order of the dimensions in memory. ValueError for a range that is empty,
    TypeError for dtypes without tensors.
    """
    shape = tuple(shape[0]) if len(shape) == 1 and not isinstance(shape[0], int) else shape
    if noncontiguous and memory_format is not None:
        raise ValueError("make_tensor: `noncontiguous` and `memory_format` exclude each other")
    if dtype not in (*_FLOATS, *_INTEGERS, *_RANGES):
        raise TypeError(f"make_tensor: there are no tensors of the dtype {dtype!r}")
    if requires_grad and dtype not in _FLOATS:
        raise ValueError(f"make_tensor: requires_grad is for dtypes of floating point, got {dtype}")
    low, high = _range(dtype, low, high)
    if dtype in _FLOATS:
        width = high / 2 - low / 2  # the whole width may be more than a float64 holds
        made = (_C.rand(shape, dtype=_C.float64) * width * 2 + low).clamp(max=high).to(dtype)
        made = made if low == high else made.masked_fill(made >= high, low)  # rounded up to it
    else:
        made = _C.randint(low, high, shape, dtype=_C.int64).to(dtype)
    if exclude_zero:
        made = made.masked_fill(made == 0, finfo(dtype).tiny if dtype in _FLOATS else 1)
    if noncontiguous and made.numel() > 1:
        made = made.repeat_interleave(2, dim=-1)[..., ::2]
    if memory_format is not None:
        made = made.clone(memory_format=memory_format)
    return made.to(device).requires_grad_(requires_grad)
