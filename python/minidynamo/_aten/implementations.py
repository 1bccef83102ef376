"""What torch's operators compute that are no function of this package under the same name and arguments."""

import builtins
import math

from .. import _C


def _to_copy(x, *, dtype=None, layout=None, device=None, pin_memory=None, non_blocking=False, memory_format=None):
    return x.to(device=device, dtype=x.dtype if dtype is None else dtype, copy=True, memory_format=memory_format)


def _softmax(x, dim, half_to_float):
    return x.softmax(dim)


def _log_softmax(x, dim, half_to_float):
    return x.log_softmax(dim)


def _part(x, dim=0, start=None, end=None, step=1):
    if not -x.dim() <= dim < x.dim():
        raise IndexError(f"slice: there is no dimension {dim} in a tensor of {x.dim()} dimensions")
    index = [builtins.slice(None)] * x.dim()
    index[dim] = builtins.slice(start, end, step)
    return x[tuple(index)]


def _all_or(indices):
    return tuple(builtins.slice(None) if i is None else i for i in indices)


def _index(x, indices):
    return x[_all_or(indices)]


def _index_put(x, indices, values, accumulate=False):
    return x.clone().index_put_(_all_or(indices), values, accumulate)


def _index_put_(x, indices, values, accumulate=False):
    return x.index_put_(_all_or(indices), values, accumulate)


def _view(x, shape):
    return x.view(shape)


def _alias(x):
    return x.view(x.shape)


def _itself(x):
    return x


def _empty_strided_like(x, size, stride, **kwargs):
    kwargs.setdefault("dtype", x.dtype)
    return _C.empty_strided(size, stride, **kwargs)


def _convolution(x, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    if transposed:
        from ..nn import functional

        call = getattr(functional, f"conv_transpose{x.dim() - 2}d")
        return call(x, weight, bias, stride, padding, output_padding, groups, dilation)
    return getattr(_C, f"conv{x.dim() - 2}d")(x, weight, bias, stride, padding, dilation, groups)


def _vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None):
    from .. import linalg

    return linalg.vector_norm(x, ord, dim, keepdim, dtype=dtype)


def _layer_norm(x, shape, weight, bias, eps):
    from ..nn import functional

    over = list(range(x.dim() - len(shape), x.dim()))
    rest = _C.rsqrt(x.var(over, correction=0, keepdim=True) + eps)
    return functional.layer_norm(x, shape, weight, bias, eps), x.mean(over, keepdim=True), rest


def _threshold_backward(grad, x, threshold):
    return _C.where(x > threshold, grad, 0)


def _softmax_backward(grad, out, dim, dtype):
    return out * (grad - (grad * out).sum(dim, keepdim=True))


def _log_softmax_backward(grad, out, dim, dtype):
    return grad - out.exp() * grad.sum(dim, keepdim=True)


def _pooled(spread):
    def adaptive(x, output_size):
        from ..nn import functional

        return getattr(functional, f"adaptive_avg_pool{spread}d")(x, output_size)

    return adaptive


def _scale(x, dims, normalization):
    count = math.prod(x.shape[d] for d in dims)
    return (1.0, 1 / math.sqrt(count or 1), 1 / (count or 1))[normalization]


def _fft_c2c(x, dim, normalization, forward):
    return _C._fourier(x, list(dim), not forward, _scale(x, dim, normalization))


def _fft_r2c(x, dim, normalization, onesided):
    made = _fft_c2c(x.to(x.dtype.to_complex()), dim, normalization, True)
    return made.narrow(dim[-1], 0, made.shape[dim[-1]] // 2 + 1) if onesided else made


def _fft_c2r(x, dim, normalization, last_dim_size):
    from .. import fft

    sizes = [x.shape[d] for d in dim[:-1]] + [last_dim_size]
    return fft.irfftn(x, sizes, dim, ("forward", "ortho", "backward")[normalization])


IMPLEMENTATIONS = {
    "_fft_c2c": _fft_c2c,
    "_fft_r2c": _fft_r2c,
    "_fft_c2r": _fft_c2r,
    "_to_copy": _to_copy,
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "slice": _part,
    "index": _index,
    "index_put": _index_put,
    "index_put_": _index_put_,
    "_unsafe_view": _view,
    "_reshape_alias": lambda x, size, stride: x.as_strided(size, stride),
    "alias": _alias,
    "lift": _itself,
    "lift_fresh": _itself,
    "lift_fresh_copy": lambda x: x.clone(),
    "_local_scalar_dense": lambda x: x.item(),
    "new_empty_strided": _empty_strided_like,
    "convolution": _convolution,
    "linalg_vector_norm": _vector_norm,
    "native_layer_norm": _layer_norm,
    "_adaptive_avg_pool2d": _pooled(2),
    "_adaptive_avg_pool3d": _pooled(3),
    "threshold_backward": _threshold_backward,
    "_softmax_backward_data": _softmax_backward,
    "_log_softmax_backward_data": _log_softmax_backward,
    "sigmoid_backward": lambda grad, out: grad * out * (1 - out),
    "tanh_backward": lambda grad, out: grad * (1 - out * out),
}
_HOMES = ("", "nn.functional", "linalg", "special")


def implementation(base):
    """The callable that computes the operator of this name; None if there is none here."""
    from importlib import import_module

    if base in IMPLEMENTATIONS:
        return IMPLEMENTATIONS[base]
    found = getattr(_C, base, None)
    if callable(found) and not isinstance(found, type):
        return found
    if base.endswith("_") and not base.endswith("__"):
        return getattr(_C.Tensor, base, None)
    try:
        return _C._op_function(base)
    except KeyError:
        pass
    found = getattr(_C.Tensor, base, None)
    if callable(found):
        return found
    space, _, name = base.partition("_")
    if space in ("linalg", "special", "fft") and name:
        return getattr(import_module(f"{__package__.rpartition('.')[0]}.{space}"), name, None)
    root = __package__.rpartition(".")[0]
    for home in _HOMES:
        found = getattr(import_module(f"{root}.{home}" if home else root), base, None)
        if callable(found) and not isinstance(found, type):
            return found
    return None


def without_places(kwargs):
    """Keyword arguments without those that say nothing here."""
    return {
        name: value
        for name, value in kwargs.items()
        if not (name == "layout" or (name == "pin_memory" and not value) or (name == "non_blocking" and not value))
    }
