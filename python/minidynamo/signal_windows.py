"""Window functions of torch's own namespace: weights of `window_length` places, as torch.hann_window makes them.

`periodic` leaves out the last place of a window that is one longer. All take dtype (a floating one), device and
requires_grad.
"""

import math

import numpy as np

from . import _C
from ._absent import absent_names as _absent_names


def _window(name, length, periodic, weights, dtype, layout, device, pin_memory, requires_grad):
    """`weights`: of places from 0 to 1, in float64."""
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    dtype = _C.get_default_dtype() if dtype is None else dtype
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if layout not in (None, _C.strided):
        raise RuntimeError(f"{name} is not implemented for the layout {layout}")
    if pin_memory:
        raise RuntimeError(f"{name}: there is no accelerator to pin memory for")
    if length < 2:
        values = _C.ones((length,), dtype=dtype, device=device)
    else:
        places = _C.arange(length, dtype=_C.float64, device=device)
        values = weights(places / (length if periodic else length - 1)).to(dtype)
    return values.requires_grad_() if requires_grad else values


def _of_cosines(factors):
    return lambda places: sum([f * _C.cos(2 * math.pi * k * places) for k, f in enumerate(factors)])


def hann_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """(1 - cos(2 pi n / N)) / 2."""
    weights = _of_cosines([0.5, -0.5])
    return _window("hann_window", window_length, periodic, weights, dtype, layout, device, pin_memory, requires_grad)


def hamming_window(
    window_length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """alpha - beta cos(2 pi n / N)."""
    weights = _of_cosines([alpha, -beta])
    return _window("hamming_window", window_length, periodic, weights, dtype, layout, device, pin_memory, requires_grad)


def blackman_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""
    weights = _of_cosines([0.42, -0.5, 0.08])
    return _window(
        "blackman_window", window_length, periodic, weights, dtype, layout, device, pin_memory, requires_grad
    )


def bartlett_window(
    window_length, periodic=True, *, dtype=None, layout=None, device=None, pin_memory=False, requires_grad=False
):
    """1 - |2 n / N - 1|, a triangle."""
    return _window(
        "bartlett_window",
        window_length,
        periodic,
        lambda places: 1 - (2 * places - 1).abs(),
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


def _bessel(values):
    return values if values.is_meta else _C.from_numpy(np.i0(values.numpy(force=True))).to(values.device)


def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta), with the modified Bessel function I0."""
    return _window(
        "kaiser_window",
        window_length,
        periodic,
        lambda places: _bessel(beta * (1 - (2 * places - 1) ** 2).clamp(min=0).sqrt()) / float(np.i0(beta)),
        dtype,
        layout,
        device,
        pin_memory,
        requires_grad,
    )


__getattr__ = _absent_names(__name__)
