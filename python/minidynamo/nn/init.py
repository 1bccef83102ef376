"""torch.nn.init: fills a tensor in place and gives it back."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad

_GAINS = {"sigmoid": 1.0, "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 3.0 / 4.0}
_GAINS.update({f"{kind}{n}d": 1.0 for kind in ("conv", "conv_transpose") for n in (1, 2, 3)}, linear=1.0)


def calculate_gain(nonlinearity, param=None):
    """The factor by which a nonlinearity shrinks the deviation of its input."""
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def _fans(tensor):
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


_calculate_fan_in_and_fan_out = _fans


def _fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _fans(tensor)[mode == "fan_out"]


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    with no_grad():
        return tensor.uniform_(a, b)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    with no_grad():
        return tensor.normal_(mean, std)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal values, those outside [a, b] drawn again."""
    if not a < b:
        raise ValueError(f"minimum value ({a}) must be less than maximum value ({b})")
    with no_grad():
        tensor.normal_(mean, std)
        outside = (tensor < a) | (tensor > b)
        while bool(outside.any()):
            # Far in a tail nearly nothing would ever fall inside: evenly spread draws, kept with the density's odds.
            drawn = _C.empty_like(tensor).uniform_(a, b)
            peak = min(max(mean, a), b)
            odds = _C.exp(((peak - mean) ** 2 - (drawn - mean) ** 2) / (2 * std**2))
            taken = outside & (_C.rand_like(tensor) < odds)
            tensor.copy_(_C.where(taken, drawn, tensor))
            outside = outside & ~taken
        return tensor


def constant_(tensor, val):
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    return constant_(tensor, 1.0)


def zeros_(tensor):
    return constant_(tensor, 0.0)


def eye_(tensor):
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(_C.eye(tensor.size(0), tensor.size(1), dtype=tensor.dtype, device=tensor.device))


def xavier_uniform_(tensor, gain=1.0, generator=None):
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return uniform_(tensor, -bound, bound)


def xavier_normal_(tensor, gain=1.0, generator=None):
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))))


def kaiming_uniform_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in tensor.shape:
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound)


def kaiming_normal_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    if 0 in tensor.shape:
        return tensor
    return normal_(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)))


__getattr__ = _absent_names(__name__)
