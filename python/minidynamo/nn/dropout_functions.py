"""Dropout: of single elements, of whole channels, and kinds that keep the mean and variance of their input."""

import warnings

from .. import _C
from .._dynamo.eval_frame import is_compiling

_SATURATION = 1.7580993408473766  # scale * alpha of selu: what it tends to far below 0, with the sign changed


def _check_probability(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(shape, input, p):
    """1 where a draw is kept, 0 where it is not, of the input's dtype."""
    return (_C.rand(shape, dtype=_draws(input), device=input.device) >= p).to(input.dtype)


def _draws(input):
    return input.dtype if input.is_floating_point() else None


def _scaled(input, kept, p, inplace):
    scale = kept if p == 1.0 else kept / (1.0 - p)
    return input.mul_(scale) if inplace else input * scale


@_C._overridable
def dropout(input, p=0.5, training=True, inplace=False):
    """Elements zeroed with probability p, the others scaled by 1 / (1 - p)."""
    _check_probability(p)
    if not training or p == 0.0:
        return input
    kept = (_C.rand_like(input) >= p).to(input.dtype)
    return _scaled(input, kept, p, inplace)


def _channels(input):
    """The shape of one draw for each of the first two dimensions."""
    if input.dim() < 2:
        raise RuntimeError(f"dropout of channels needs 2 dimensions or more, got {input.dim()}")
    return (*input.shape[:2], *[1] * (input.dim() - 2))


def _feature_dropout(input, p, training, inplace):
    if not training or p == 0.0 or input.numel() == 0:
        return input
    return _scaled(input, _kept(_channels(input), input, p), p, inplace)


def _of_maybe_one(input, p, training, inplace, batched):
    """Channels of a batch, or those of one entry, which has no dimension for the batch."""
    if batched:
        return _feature_dropout(input, p, training, inplace)
    result = _feature_dropout(input.unsqueeze(0), p, training, inplace)
    return input if inplace else result.squeeze(0)


def _warn(text):
    if not is_compiling():
        warnings.warn(text, stacklevel=3)


@_C._overridable
def dropout1d(input, p=0.5, training=True, inplace=False):
    """Channels of (N, C, L) or (C, L) zeroed with probability p, the others scaled by 1 / (1 - p)."""
    _check_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: expected 2 or 3 dimensions, got {input.dim()}: (N, C, L) or (C, L)")
    return _of_maybe_one(input, p, training, inplace, input.dim() == 3)


@_C._overridable
def dropout2d(input, p=0.5, training=True, inplace=False):
    """Channels of (N, C, H, W) zeroed with probability p, the others scaled by 1 / (1 - p).

    An input of 3 dimensions is (N, C, L) too, as in torch: with a warning, dropout1d is meant for that.
    """
    _check_probability(p)
    if input.dim() not in (3, 4):
        _warn(f"dropout2d: {input.dim()} dimensions in place of (N, C, H, W): the first two are taken for N and C")
    elif input.dim() == 3:
        _warn("dropout2d: 3 dimensions are taken for (N, C, L), not for (C, H, W); dropout1d says so")
    return _feature_dropout(input, p, training, inplace)


@_C._overridable
def dropout3d(input, p=0.5, training=True, inplace=False):
    """Channels of (N, C, D, H, W) or (C, D, H, W) zeroed with probability p, the others scaled by 1 / (1 - p)."""
    _check_probability(p)
    if input.dim() not in (4, 5):
        _warn(f"dropout3d: {input.dim()} dimensions in place of (N, C, D, H, W) or (C, D, H, W)")
    return _of_maybe_one(input, p, training, inplace, input.dim() == 5)


def _alpha(input, shape, p, training, inplace):
    _check_probability(p)
    if not training or p == 0.0 or input.numel() == 0:
        return input
    if p == 1.0:
        return input.mul_(0.0) if inplace else input * 0.0
    kept = _kept(shape, input, p)
    scale = 1.0 / ((_SATURATION**2 * p + 1) * (1 - p)) ** 0.5
    shift = (kept - 1) * (_SATURATION * scale) + _SATURATION * scale * p
    return input.mul_(kept * scale).add_(shift) if inplace else input * (kept * scale) + shift


@_C._overridable
def alpha_dropout(input, p=0.5, training=False, inplace=False):
    """Elements set to what selu tends to, with probability p, and all brought back to mean 0 and variance 1
    (Klambauer et al. 2017, Self-Normalizing Neural Networks)."""
    return _alpha(input, input.shape, p, training, inplace)


@_C._overridable
def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    """alpha_dropout of whole channels, the second dimension."""
    _check_probability(p)
    if not training or p == 0.0 or input.numel() == 0:
        return input
    return _alpha(input, _channels(input), p, training, inplace)
