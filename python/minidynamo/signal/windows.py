"""torch.signal.windows: weights of M places; with `sym=False` the last of M + 1 places is left out.

All take dtype (float32 or float64), layout, device and requires_grad. ValueError for a negative M and other dtypes.
"""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from ..signal_windows import kaiser_window as _kaiser_window

__all__ = [
    "bartlett",
    "blackman",
    "cosine",
    "exponential",
    "gaussian",
    "general_cosine",
    "general_hamming",
    "hamming",
    "hann",
    "kaiser",
    "nuttall",
]


def _window(name, weights, M, sym, dtype, layout, device, requires_grad):
    """`weights`: of the places 0, 1, ... and the number of the last one of the symmetric window, in float64."""
    if not isinstance(M, int) or M < 0:
        raise ValueError(f"{name} requires non-negative window length for M, got M={M}")
    dtype = _C.get_default_dtype() if dtype is None else dtype
    if dtype not in (_C.float32, _C.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    if layout is not _C.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if M < 2:
        values = _C.ones((M,), dtype=dtype, device=device)
    else:
        places = _C.arange(M, dtype=_C.float64, device=device)
        values = weights(places, M - 1 if sym else M).to(dtype)
    return values.requires_grad_() if requires_grad else values


def _positive(name, parameter, value):
    if value <= 0:
        raise ValueError(f"{name}: {parameter} must be positive, got: {value} instead.")


def bartlett(M, *, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """1 - |2 n / N - 1|, a triangle."""

    def weights(places, last):
        return 1 - (2 * places / last - 1).abs()

    return _window("bartlett", weights, M, sym, dtype, layout, device, requires_grad)


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """exp(-|n - center| / tau); the centre is the middle, or given with `sym=False`."""
    _positive("exponential", "tau", tau)
    if sym and center is not None:
        raise ValueError("exponential: center goes with sym=False only")

    def weights(places, last):
        return _C.exp(-(places - (last / 2 if center is None else center)).abs() / tau)

    return _window("exponential", weights, M, sym, dtype, layout, device, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """exp(-((n - N / 2) / std)^2 / 2)."""
    _positive("gaussian", "std", std)

    def weights(places, last):
        return _C.exp(-(((places - last / 2) / std) ** 2) / 2)

    return _window("gaussian", weights, M, sym, dtype, layout, device, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """sin(pi (n + 1/2) / (N + 1))."""

    def weights(places, last):
        return _C.sin(math.pi * (places + 0.5) / (last + 1))

    return _window("cosine", weights, M, sym, dtype, layout, device, requires_grad)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """I0(beta sqrt(1 - (2 n / N - 1)^2)) / I0(beta), with the modified Bessel function I0."""
    if beta < 0:
        raise ValueError(f"kaiser: beta must be non-negative, got: {beta} instead.")

    def weights(places, last):
        return _kaiser_window(len(places), last == len(places), beta, dtype=_C.float64, device=device)

    return _window("kaiser", weights, M, sym, dtype, layout, device, requires_grad)


def _of_cosines(name, factors, M, sym, dtype, layout, device, requires_grad):
    """factors[0] - factors[1] cos(x) + factors[2] cos(2 x) - ..., x from 0 to 2 pi."""

    def weights(places, last):
        steps = 2 * math.pi * places / last
        terms = [(-1) ** k * f * _C.cos(k * steps) for k, f in enumerate(factors)]
        return sum(terms)

    return _window(name, weights, M, sym, dtype, layout, device, requires_grad)


def general_cosine(M, *, a, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """Sums of cosines with the weights `a`, signs in turn. Raises TypeError and ValueError for others than some."""
    if not hasattr(a, "__iter__"):
        raise TypeError(f"general_cosine: the coefficients should be a list, not {type(a).__name__}")
    if not list(a):
        raise ValueError("general_cosine: at least one coefficient is needed")
    return _of_cosines("general_cosine", list(a), M, sym, dtype, layout, device, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """alpha - (1 - alpha) cos(2 pi n / N)."""
    return _of_cosines("general_hamming", [alpha, 1 - alpha], M, sym, dtype, layout, device, requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """0.54 - 0.46 cos(2 pi n / N)."""
    return _of_cosines("hamming", [0.54, 0.46], M, sym, dtype, layout, device, requires_grad)


def hann(M, *, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """(1 - cos(2 pi n / N)) / 2."""
    return _of_cosines("hann", [0.5, 0.5], M, sym, dtype, layout, device, requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."""
    return _of_cosines("blackman", [0.42, 0.5, 0.08], M, sym, dtype, layout, device, requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=_C.strided, device=None, requires_grad=False):
    """Four cosines with the smallest side lobes."""
    factors = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return _of_cosines("nuttall", factors, M, sym, dtype, layout, device, requires_grad)


__getattr__ = _absent_names(__name__)
