"""Quantised tensors: integers with a scale and a zero point, for the whole or for each slice of one dimension.

Element q stands for (q - zero_point) * scale. They are made, converted, printed, moved and compared; products and sums
of them are for dequantize().
"""

from . import _C
from ._tensors_of_parts import TensorOfParts, gradient_facts, of_parts, with_facts


class qscheme:
    """How a tensor is quantised: torch.per_tensor_affine and its kin."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


per_tensor_affine = qscheme("per_tensor_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_affine = qscheme("per_channel_affine")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
# By dtype: what is stored, its least and its largest value.
_STORED = {
    _C.quint8: (_C.uint8, 0, 255),
    _C.qint8: (_C.int8, -128, 127),
    _C.qint32: (_C.int32, -(2**31), 2**31 - 1),
}
_BY_STORED = {stored: dtype for dtype, (stored, _, _) in _STORED.items()}


class QuantizedTensor(TensorOfParts):
    """A quantised tensor; see quantize_per_tensor() and quantize_per_channel()."""

    _kind = "quantised"
    _rules = {}

    dtype = property(lambda self: _BY_STORED[self._parts[0].dtype])
    is_quantized = property(lambda self: True)
    requires_grad = property(lambda self: False)

    def int_repr(self):
        """The integers that are stored."""
        return self._parts[0].clone()

    def qscheme(self):
        return per_tensor_affine if self._axis is None else per_channel_affine

    def q_scale(self):
        """What the integers are multiplied with; RuntimeError where each channel has its own."""
        self._need(whole=True, what="q_scale")
        return self._parts[1]

    def q_zero_point(self):
        """The integer that stands for 0; RuntimeError where each channel has its own."""
        self._need(whole=True, what="q_zero_point")
        return self._parts[2]

    def q_per_channel_scales(self):
        self._need(whole=False, what="q_per_channel_scales")
        return self._parts[1]

    def q_per_channel_zero_points(self):
        self._need(whole=False, what="q_per_channel_zero_points")
        return self._parts[2]

    def q_per_channel_axis(self):
        self._need(whole=False, what="q_per_channel_axis")
        return self._axis

    def _need(self, whole, what):
        if (self._axis is None) != whole:
            other = "per channel" if whole else "as a whole"
            raise RuntimeError(f"{what}() is not for this tensor, which is quantised {other}")

    def dequantize(self):
        """The numbers it stands for, float32."""
        stored, scale, zero_point = self._parts
        if self._axis is None:
            return (stored.to(_C.float32) - zero_point) * scale
        sizes = [-1 if d == self._axis else 1 for d in range(stored.dim())]
        return ((stored - zero_point.reshape(sizes)) * scale.reshape(sizes).to(_C.float32)).to(_C.float32)

    def stride(self, dim=None):
        return self._parts[0].stride() if dim is None else self._parts[0].stride(dim)

    def is_contiguous(self, **kwargs):
        return self._parts[0].is_contiguous(**kwargs)

    def element_size(self):
        return self._parts[0].element_size()

    def tolist(self):
        raise RuntimeError("tolist() does not take quantised tensors; use dequantize() or int_repr()")

    def item(self):
        return self.dequantize().item()

    def _with(self, stored, axis=None):
        return _made(stored, self._parts[1], self._parts[2], self._axis if axis is None else axis)

    def _text(self):
        numbers = self.dequantize()
        body = _C._values_text(numbers, len("tensor(")) if numbers.numel() else "[]"
        facts = [f"size={tuple(self.shape)}", f"dtype={self.dtype}", f"quantization_scheme={self.qscheme()}"]
        if self._axis is None:
            facts += [f"scale={self._parts[1]}", f"zero_point={self._parts[2]}"]
        else:
            facts += [f"scale={self._parts[1]}", f"zero_point={self._parts[2]}", f"axis={self._axis}"]
        return with_facts(f"tensor({body}", facts + gradient_facts(self))

    def __reduce__(self):
        return _made, (*self._parts, self._axis)

    def __reduce_ex__(self, protocol):
        return self.__reduce__()

    def __deepcopy__(self, memo):
        memo[id(self)] = copied = self._with(self._parts[0].clone())
        return copied

    @classmethod
    def _otherwise(cls, func, name, args, kwargs):
        raise NotImplementedError(f"{name}() does not take quantised tensors; use dequantize()")


def _made(stored, scale, zero_point, axis=None):
    tensor = of_parts(QuantizedTensor, (stored, scale, zero_point), stored.shape)
    tensor._axis = axis
    return tensor


def _rounded(input, scale, zero_point, dtype):
    if dtype not in _STORED:
        raise RuntimeError(f"a quantised dtype is needed (quint8, qint8, qint32), not {dtype}")
    stored, least, largest = _STORED[dtype]
    inverse = 1.0 / scale if isinstance(scale, _C.Tensor) else _C.tensor(1.0 / scale, dtype=_C.float32).item()
    if stored == _C.int32:
        input = input.to(_C.float64)
    places = _C.round(input * inverse + zero_point)  # the sum is rounded, as in torch
    return places.clamp(least, largest).to(stored)


def quantize_per_tensor(input, scale, zero_point, dtype):
    """`input`, float32, in steps of `scale`; `zero_point` stands for 0. Of a list a tuple."""
    if isinstance(input, (list, tuple)):
        return tuple([quantize_per_tensor(*each, dtype) for each in zip(input, scale, zero_point)])
    _check_input(input)
    scale = float(scale)
    zero_point = int(zero_point)
    return _made(_rounded(input.detach(), scale, zero_point, dtype), scale, zero_point)


def quantize_per_tensor_dynamic(input, dtype, reduce_range):
    """quantize_per_tensor() with scale and zero point that hold all of `input`."""
    _check_input(input)
    _, least, largest = _STORED[dtype]
    if reduce_range:
        least, largest = least // 2, largest // 2
    scale, zero_point = chosen_steps(input, least, largest)
    return quantize_per_tensor(input, scale, zero_point, dtype)


def chosen_steps(input, least, largest):
    """(scale, zero point) with which the integers from `least` to `largest` hold all of `input`, and 0 exactly."""
    low, high = min(input.min().item(), 0.0), max(input.max().item(), 0.0)
    scale = (high - low) / (largest - least) or 0.1
    return scale, min(max(round(least - low / scale), least), largest)


def quantize_per_channel(input, scales, zero_points, axis, dtype):
    """As quantize_per_tensor() with a scale and a zero point for each slice of dimension `axis`."""
    _check_input(input)
    axis = axis % input.dim()
    if scales.dim() != 1 or scales.shape != zero_points.shape or scales.shape[0] != input.shape[axis]:
        raise RuntimeError(f"quantize_per_channel: {input.shape[axis]} scales and zero points are needed")
    sizes = [-1 if d == axis else 1 for d in range(input.dim())]
    shown = scales.to(_C.float32).reshape(sizes)
    stored = _rounded(input.detach(), shown, zero_points.reshape(sizes), dtype)
    return _made(stored, scales.to(_C.float64), zero_points.to(_C.int64), axis)


def _check_input(input):
    if input.dtype != _C.float32:
        raise RuntimeError(f"quantising needs a tensor of float32, got {input.dtype}")


def dequantize(input):
    """What quantised tensors stand for; of a list the list of it."""
    return tuple([t.dequantize() for t in input]) if isinstance(input, (list, tuple)) else input.dequantize()


def _make_per_tensor_quantized_tensor(input, scale, zero_point):
    return _made(input.clone(), float(scale), int(zero_point))


def _make_per_channel_quantized_tensor(input, scale, zero_point, axis):
    return _made(input.clone(), scale.to(_C.float64), zero_point.to(_C.int64), axis)


def empty_quantized(size, qtensor, **kwargs):
    """A tensor of these sizes that is quantised as `qtensor`."""
    return qtensor._with(_C.empty(tuple(size), dtype=qtensor._parts[0].dtype))


def _moved(name):
    function = getattr(_C.Tensor, name)

    def rule(input, *args, **kwargs):
        if input._axis is not None and name not in ("contiguous", "clone"):
            raise RuntimeError(f"{name}() takes tensors that are quantised as a whole; this one is per channel")
        return input._with(function(input._parts[0], *args, **kwargs))

    return rule


def _again(input, numbers):
    """Numbers quantised as `input` is."""
    return quantize_per_tensor(numbers, input.q_scale(), input.q_zero_point(), input.dtype)


def _relu(input, inplace=False):
    return input._with(input._parts[0].clamp(min=input.q_zero_point()))


def _cat(tensors, dim=0):
    first = tensors[0]
    rest = [t if t._parts[1:] == first._parts[1:] else _again(first, t.dequantize()) for t in tensors]
    return first._with(_C.cat([t._parts[0] for t in rest], dim))


def _extreme(name):
    function = getattr(_C, name)

    def rule(input, *args, **kwargs):
        found = function(input._parts[0], *args, **kwargs)
        if isinstance(found, _C.Tensor):
            return input._with(found)
        return type(found)((input._with(found[0]), found[1]))

    return rule


def _compared(name):
    function = getattr(_C, name)
    return lambda a, b: function(*[x.dequantize() if isinstance(x, QuantizedTensor) else x for x in (a, b)])


def _copy(input, source, non_blocking=False):
    input._parts = (_again(input, source.to(_C.float32))._parts[0], *input._parts[1:])
    return input


def _refuse_conversion(input, *args, **kwargs):
    raise RuntimeError("a quantised tensor is not converted to other dtypes: see dequantize() and int_repr()")


_rules = QuantizedTensor._rules
for (
    _name
) in "view reshape transpose permute squeeze unsqueeze flatten select narrow contiguous clone __getitem__".split():
    _rules[_name] = _moved(_name)
_rules |= {name: _extreme(name) for name in ("max", "min", "sort", "topk")}
_rules |= {name: _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge", "equal")}
_rules |= {f"__{name}__": _compared(name) for name in ("eq", "ne", "lt", "le", "gt", "ge")}
_rules |= {name: _refuse_conversion for name in ("to", "float", "double", "half", "long", "int", "mul", "mul_")}
_rules |= {
    "relu": _relu,
    "cat": _cat,
    "copy_": _copy,
    "mean": lambda input, *args, **kwargs: _again(input, input.dequantize().mean(*args, **kwargs)),
    "detach": lambda input: input,
    "cpu": lambda input: input,
    "is_tensor": lambda obj: True,
}
