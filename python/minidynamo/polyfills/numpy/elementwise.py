"""Ufuncs: operands are brought to the dtypes of NumPy's own loop, then a tensor operation computes."""

import minidynamo as torch

from ..bridge import array_of, is_array, is_number, kind_of, tensor_of
from . import facts, layout
from .operands import as_array, check_number, delivered, is_true, result, store, writeable_tensor


def elementwise(name, *inputs, out=None, where=True, dtype=None, casting="same_kind"):
    """The ufunc `name`. Raises what NumPy is to decide itself."""
    count = facts.count_of_inputs(name)
    if len(inputs) > count:
        out = inputs[count]
        inputs = inputs[:count]
    if len(inputs) < count or where is not True:
        raise NotImplementedError("a call of this form")
    operands = [x if is_array(x) or is_number(x) else as_array(x) for x in inputs]
    loop = facts.loop_of(name, tuple([kind_of(x) for x in operands]), facts.tensor_dtype(dtype), casting)
    value = facts.operation(name)(*at_dtypes(name, operands, loop))
    if value.dtype != loop[count]:
        value = value.to(loop[count])
    if isinstance(out, tuple):
        out = out[0]
    if out is not None:
        return store(out, value)
    return result(layout.iterated(value, [tensor_of(x) for x in operands if is_array(x)]))


def at_dtypes(name, operands, loop):
    """The operands in the dtypes of the loop: tensors, or Python numbers beside one where the operation takes them."""
    numbers = facts.takes_numbers(name)
    if numbers:
        numbers = False
        for x in operands:
            if is_array(x):
                numbers = True
    return [at_dtype(x, loop[i], numbers) for i, x in enumerate(operands)]


def at_dtype(x, dtype, may_be_number):
    if is_array(x):
        value = tensor_of(x)
        return value if value.dtype == dtype else value.to(dtype)
    check_number(x, dtype)
    return x if may_be_number else torch.full((), x, dtype=dtype)


# --- operators of arrays ----------------------------------------------------------------------------------------------


def operator(name, self, other):
    """self + other and the like."""
    if name == "power" and is_number(other) and tensor_of(as_array(self)).dtype == torch.bool:
        if isinstance(other, float) or other != 2:
            return elementwise(name, self, other)
        return elementwise("square", self)  # as NumPy's operator does, whose dtype is another then
    return elementwise(name, self, other)


def reflected(name, self, other):
    """other + self and the like."""
    return elementwise(name, other, self)


def inplace(name, self, other):
    """self += other: computed first, then stored with the casting of ufuncs."""
    writeable_tensor(self)
    return elementwise(name, self, other, out=self)


def unary(name, self):
    """-self and the like."""
    return elementwise(name, self)


# Operators by the name of their special method, without underscores.
BINARY_OPERATORS = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "truediv": "divide",
    "floordiv": "floor_divide",
    "mod": "remainder",
    "pow": "power",
    "and": "bitwise_and",
    "or": "bitwise_or",
    "xor": "bitwise_xor",
    "lshift": "left_shift",
    "rshift": "right_shift",
}
COMPARISONS = {
    "lt": "less",
    "le": "less_equal",
    "eq": "equal",
    "ne": "not_equal",
    "gt": "greater",
    "ge": "greater_equal",
}
UNARY_OPERATORS = {"neg": "negative", "pos": "positive", "abs": "absolute", "invert": "invert"}


# --- functions that are no ufuncs -------------------------------------------------------------------------------------


def where(condition, x=None, y=None):
    """numpy.where with three arguments."""
    if x is None or y is None:
        raise NotImplementedError("numpy.where of two arguments")
    a = x if is_number(x) else as_array(x)
    b = y if is_number(y) else as_array(y)
    dtype = facts.common_dtype((kind_of(a), kind_of(b)))
    chosen = tensor_of(as_array(condition))
    value = torch.where(chosen.to(torch.bool), at_dtype(a, dtype, False), at_dtype(b, dtype, False))
    return array_of(layout.iterated(value, [chosen, *[tensor_of(x) for x in (a, b) if is_array(x)]]))


def clip(a, a_min=None, a_max=None, out=None, min=None, max=None, dtype=None):  # noqa: A002  NumPy's names
    """numpy.clip: with one bound it is maximum or minimum."""
    low = a_min if min is None else min
    high = a_max if max is None else max
    if low is None and high is None:
        raise NotImplementedError("a copy or an error, by version")
    if low is None:
        return elementwise("minimum", a, high, out=out, dtype=dtype)
    if high is None:
        return elementwise("maximum", a, low, out=out, dtype=dtype)
    return elementwise("clip", a, low, high, out=out, dtype=dtype)


def around(a, decimals=0, out=None):
    """numpy.round; halves go to the even neighbour."""
    value = tensor_of(as_array(a))
    if facts.integer_range(value.dtype) is not None or value.dtype == torch.bool:
        raise NotImplementedError("rounding of integers")
    if decimals == 0:
        return delivered(torch.round(value), out)
    scale = 10.0 ** abs(decimals)
    scaled = torch.round(value * scale) / scale if decimals > 0 else torch.round(value / scale) * scale
    return delivered(scaled, out) if out is not None else result(layout.laid(scaled, c_or_fortran(value)))


def c_or_fortran(value):
    """The axes of what has Fortran's order if the operand has, and C's otherwise."""
    axes = list(range(value.dim()))
    return axes[::-1] if not value.is_contiguous() and layout.lies(value, axes[::-1]) else axes


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    """numpy.nan_to_num."""
    value = tensor_of(as_array(x))
    done = torch.nan_to_num(value, nan, posinf, neginf) if value.dtype.is_floating_point else value.clone()
    if not is_true(copy):
        return store(x, done)
    return delivered(done, None)


def isclose(a, b, rtol=1e-05, atol=1e-08, equal_nan=False):
    """numpy.isclose: |a - b| <= atol + rtol |b|; infinities only beside themselves."""
    x = tensor_of(as_array(a)).to(torch.float64)
    y = tensor_of(as_array(b)).to(torch.float64)
    near = (torch.abs(x - y) <= atol + rtol * torch.abs(y)) & torch.isfinite(y) | (x == y)
    if is_true(equal_nan):
        near = near | (x != x) & (y != y)
    return result(layout.iterated(near, [x, y]))
