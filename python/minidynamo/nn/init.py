"""torch.nn.init: fills a tensor in place and gives it back. Draws are `generator`'s, or the default stream's."""

import functools
import math
import warnings

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import no_grad
from ..linalg import vector_norm

_GAINS = {"sigmoid": 1.0, "tanh": 5.0 / 3.0, "relu": math.sqrt(2.0), "selu": 3.0 / 4.0}
_GAINS.update({f"{kind}{n}d": 1.0 for kind in ("conv", "conv_transpose") for n in (1, 2, 3)}, linear=1.0)


def _asked(function, tensor, **arguments):
    """What modes and the tensor's class answer to the call."""
    return _C._handle_torch_function(function, (tensor,), (), {"tensor": tensor, **arguments})


def calculate_gain(nonlinearity, param=None):
    """The factor by which a nonlinearity shrinks the deviation of its input: sqrt(2 / (1 + slope ** 2)) for leaky_relu
    of slope `param` (0.01), sqrt(2) for relu, 5/3 for tanh, 3/4 for selu, 1 for the rest. ValueError for others."""
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


def _uniform(tensor, a, b, generator):
    with no_grad():
        return tensor.uniform_(a, b, generator=generator)


def _normal(tensor, mean, std, generator):
    with no_grad():
        return tensor.normal_(mean, std, generator=generator)


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers spread evenly over [a, b)."""
    if _C._has_torch_function_unary(tensor):
        return _asked(uniform_, tensor, a=a, b=b, generator=generator)
    return _uniform(tensor, a, b, generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Normal numbers."""
    if _C._has_torch_function_unary(tensor):
        return _asked(normal_, tensor, mean=mean, std=std, generator=generator)
    return _normal(tensor, mean, std, generator)


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Normal values, those outside [a, b] drawn again. ValueError unless a < b."""
    if not a < b:
        raise ValueError(f"minimum value ({a}) must be less than maximum value ({b})")
    with no_grad():
        tensor.normal_(mean, std, generator=generator)
        outside = (tensor < a) | (tensor > b)
        while bool(outside.any()):
            # Far in a tail nearly nothing would ever fall inside: evenly spread draws, kept with the density's odds.
            drawn = _C.empty_like(tensor).uniform_(a, b, generator=generator)
            peak = min(max(mean, a), b)
            odds = _C.exp(((peak - mean) ** 2 - (drawn - mean) ** 2) / (2 * std**2))
            taken = outside & (_C.empty_like(tensor).uniform_(generator=generator) < odds)
            tensor.copy_(_C.where(taken, drawn, tensor))
            outside = outside & ~taken
        return tensor


def constant_(tensor, val):
    """`val` everywhere."""
    if _C._has_torch_function_unary(tensor):
        return _asked(constant_, tensor, val=val)
    with no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """1 everywhere."""
    with no_grad():
        return tensor.fill_(1.0)


def zeros_(tensor):
    """0 everywhere."""
    with no_grad():
        return tensor.zero_()


def eye_(tensor):
    """The identity, cut or filled up to the matrix; ValueError for what is none."""
    if tensor.dim() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with no_grad():
        return tensor.copy_(_C.eye(tensor.size(0), tensor.size(1), dtype=tensor.dtype, device=tensor.device))


def dirac_(tensor, groups=1):
    """Weights of a 1, 2 or 3-dimensional convolution that gives its input channels as they are, in each group as many
    as it can. ValueError for other dimensions, and where `groups` does not divide the first one."""
    if tensor.dim() not in (3, 4, 5):
        raise ValueError(f"weights of a convolution have 3, 4 or 5 dimensions, these have {tensor.dim()}")
    if tensor.size(0) % groups:
        raise ValueError(f"{tensor.size(0)} output channels can not be parted into {groups} groups")
    per_group = tensor.size(0) // groups
    centre = tuple(size // 2 for size in tensor.shape[2:])
    with no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *centre)] = 1
    return tensor


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Even in +-gain * sqrt(6 / (fan_in + fan_out)) (Glorot and Bengio 2010, equation 16)."""
    bound = gain * math.sqrt(6.0 / sum(_fans(tensor)))
    return _uniform(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal of deviation gain * sqrt(2 / (fan_in + fan_out)) (Glorot and Bengio 2010)."""
    return _normal(tensor, 0.0, gain * math.sqrt(2.0 / sum(_fans(tensor))), generator)


def _is_empty(tensor):
    if 0 in tensor.shape:
        warnings.warn("a tensor without elements: nothing to initialise", stacklevel=3)
    return 0 in tensor.shape


def kaiming_uniform_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Even in +-gain * sqrt(3 / fan) (He et al. 2015); `a` is the slope of a leaky_relu, `mode` tells which fan."""
    if _C._has_torch_function_unary(tensor):
        return _asked(kaiming_uniform_, tensor, a=a, mode=mode, nonlinearity=nonlinearity, generator=generator)
    if _is_empty(tensor):
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(tensor, a=0.0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal of deviation gain / sqrt(fan) (He et al. 2015); `a` is the slope of a leaky_relu."""
    if _is_empty(tensor):
        return tensor
    return _normal(tensor, 0.0, calculate_gain(nonlinearity, a) / math.sqrt(_fan(tensor, mode)), generator)


def _orthonormal(columns):
    """Gram-Schmidt on the rows of `columns`, which has no more rows than columns; float64. Each row is made orthogonal
    to those before it twice, which is enough (Giraud et al. 2005)."""
    for i in range(columns.size(0)):
        row = columns[i]
        done = columns[:i]
        for _ in range(2 if i else 0):
            row = row - _C.mv(done.t(), _C.mv(done, row))
        columns[i] = row / vector_norm(row)
    return columns


def orthogonal_(tensor, gain=1.0, generator=None):
    """`gain` times a matrix with orthonormal rows or columns, whichever are fewer (Saxe et al. 2013); dimensions after
    the first count as one. Q of a normal matrix whose R has a positive diagonal. ValueError below 2 dimensions."""
    if tensor.dim() < 2:
        raise ValueError(f"2 dimensions or more are needed, got {tensor.dim()}")
    if tensor.numel() == 0:
        return tensor
    rows, columns = tensor.size(0), tensor.numel() // tensor.size(0)
    with no_grad():
        drawn = tensor.new_empty((rows, columns)).normal_(0, 1, generator=generator).to(_C.float64)
        found = _orthonormal(drawn) if rows < columns else _orthonormal(drawn.t().contiguous()).t()
        return tensor.copy_(found.reshape(tensor.shape)).mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers, and in each column of the matrix a share `sparsity` of zeros, rounded up (Martens 2010).

    ValueError for what is no matrix.
    """
    if tensor.dim() != 2:
        raise ValueError(f"2 dimensions are needed, got {tensor.dim()}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[_C.randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


def _older(function):
    """The name without the underscore, which works but warns."""
    name = function.__name__

    @functools.wraps(function)
    def older(*args, **kwargs):
        warnings.warn(f"nn.init.{name[:-1]} is the old name of nn.init.{name}", FutureWarning, stacklevel=2)
        return function(*args, **kwargs)

    older.__name__ = older.__qualname__ = name[:-1]
    return older


uniform, normal, constant, eye, dirac = map(_older, (uniform_, normal_, constant_, eye_, dirac_))
xavier_uniform, xavier_normal = _older(xavier_uniform_), _older(xavier_normal_)
kaiming_uniform, kaiming_normal = _older(kaiming_uniform_), _older(kaiming_normal_)
orthogonal, sparse = _older(orthogonal_), _older(sparse_)

__getattr__ = _absent_names(__name__)
