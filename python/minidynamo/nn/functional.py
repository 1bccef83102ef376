"""torch.nn.functional: activations from the op table; those that take `inplace` are functions here.

An in-place activation is the op's result copied over the input, which comes back.
"""

from .. import _C

_ops = _C._namespaces["nn.functional"]
_WITH_INPLACE = ("silu", "mish", "hardswish", "hardsigmoid", "relu6", "selu", "celu", "elu", "leaky_relu", "hardtanh",
                 "threshold")  # fmt: skip
globals().update({name: op for name, op in _ops.items() if name not in _WITH_INPLACE})
__all__ = sorted({*_ops, "relu", "sigmoid", "tanh", "softmin"})

sigmoid = _C.sigmoid
tanh = _C.tanh


def relu(input, inplace=False):
    """max(x, 0)."""
    return input.relu_() if inplace else _C.relu(input)


def relu6(input, inplace=False):
    """x limited to [0, 6]."""
    result = _ops["relu6"](input)
    return input.copy_(result) if inplace else result


def silu(input, inplace=False):
    """x * sigmoid(x)."""
    result = _ops["silu"](input)
    return input.copy_(result) if inplace else result


def mish(input, inplace=False):
    """x * tanh(log(1 + exp(x)))."""
    result = _ops["mish"](input)
    return input.copy_(result) if inplace else result


def hardswish(input, inplace=False):
    """x * min(max(x + 3, 0), 6) / 6."""
    result = _ops["hardswish"](input)
    return input.copy_(result) if inplace else result


def hardsigmoid(input, inplace=False):
    """min(max(x + 3, 0), 6) / 6."""
    result = _ops["hardsigmoid"](input)
    return input.copy_(result) if inplace else result


def selu(input, inplace=False):
    """elu with the scale and alpha of self-normalizing networks."""
    result = _ops["selu"](input)
    return input.copy_(result) if inplace else result


def elu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x) - 1) below."""
    result = _ops["elu"](input, alpha)
    return input.copy_(result) if inplace else result


def celu(input, alpha=1.0, inplace=False):
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    result = _ops["celu"](input, alpha)
    return input.copy_(result) if inplace else result


def leaky_relu(input, negative_slope=0.01, inplace=False):
    """x above 0, negative_slope * x below."""
    result = _ops["leaky_relu"](input, negative_slope)
    return input.copy_(result) if inplace else result


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    """x limited to [min_val, max_val]."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    result = _ops["hardtanh"](input, min_val, max_val)
    return input.copy_(result) if inplace else result


def threshold(input, threshold, value, inplace=False):
    """x above `threshold`, else `value`."""
    result = _ops["threshold"](input, threshold, value)
    return input.copy_(result) if inplace else result


def _implied_dim(input, dim):
    if dim is not None:
        return dim
    return 0 if input.dim() in (0, 1, 3) else 1


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    """exp(x - max) divided by its sum along `dim`; without one 0 for 0, 1 or 3 dimensions, else 1."""
    return _ops["softmax"](input, _implied_dim(input, dim), dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    """x - max - log(sum(exp(x - max))) along `dim`; without one as softmax."""
    return _ops["log_softmax"](input, _implied_dim(input, dim), dtype)


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    """softmax(-x)."""
    return _ops["softmax"](-input, _implied_dim(input, dim), dtype)


def one_hot(input, num_classes=-1):
    """A new last dimension that is 1 at the position the value names, by default as long as the largest needs."""
    if num_classes == -1:
        if input.numel() == 0:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(input.max()) + 1
    return _ops["one_hot"](input, num_classes)
