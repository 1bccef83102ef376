"""Numbers as they come back from being quantised, with gradients where they were in range."""

from . import _C


def _steps(input, scale, zero_point, quant_min, quant_max):
    if quant_min > quant_max:
        raise RuntimeError(f"quant_min must be at most quant_max, got {quant_min} and {quant_max}")
    _check_zero_point(zero_point)
    # Rounded before the zero point is added, as in torch, and multiplied: a division rounds otherwise.
    inverse = 1.0 / scale if isinstance(scale, _C.Tensor) else _C.tensor(1.0 / scale, dtype=_C.float32).item()
    places = _C.round(input.detach() * inverse) + zero_point
    held = (places.clamp(quant_min, quant_max) - zero_point) * scale
    there = (places >= quant_min) & (places <= quant_max)
    # The slope is 1 where a number was in range, 0 elsewhere.
    return _C.where(there, input, input.detach()) - input.detach() + held


def _check_zero_point(zero_point):
    if isinstance(zero_point, _C.Tensor) and zero_point.dtype not in (_C.int32, _C.float32, _C.float16):
        raise RuntimeError(f"Zero-point must be Int32, Float or Half, found {zero_point.dtype}")


@_C._overridable
def fake_quantize_per_tensor_affine(input, scale, zero_point, quant_min, quant_max):
    """quantize_per_tensor() and dequantize() with integers from `quant_min` to `quant_max`."""
    return _steps(input, scale, zero_point, quant_min, quant_max).to(input.dtype)


@_C._overridable
def fake_quantize_per_channel_affine(input, scale, zero_point, axis, quant_min, quant_max):
    """The same with a scale and a zero point for each slice of dimension `axis`."""
    sizes = [-1 if d == axis % input.dim() else 1 for d in range(input.dim())]
    steps = _steps(input, scale.reshape(sizes), zero_point.reshape(sizes), quant_min, quant_max)
    return steps.to(input.dtype)
