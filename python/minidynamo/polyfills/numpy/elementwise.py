"""Ufuncs: operands are brought to the dtypes of NumPy's own loop, then a tensor operation computes."""

import minidynamo as torch

from ..bridge import array_of, is_array, is_number, kind_of, tensor_of
from . import facts
from .operands import as_array, check_number, delivered, is_true, store, writeable_tensor


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
    return delivered(value, out)


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


# --- operations that no tensor operation names alone ------------------------------------------------------------------


def add(a, b):
    return a + b


def subtract(a, b):
    return a - b


def multiply(a, b):
    return a * b


def divide(a, b):
    return a / b


def floor_divide(a, b):
    return without_zeros(torch.floor_divide, a, b)


def remainder(a, b):
    """A zero, too, has the sign of the divisor."""
    value = without_zeros(torch.remainder, a, b)
    return torch.copysign(value, b) if value.dtype.is_floating_point else value


def fmod(a, b):
    return without_zeros(torch.fmod, a, b)


def without_zeros(operation, a, b):
    """Integers divided by zero are 0 in NumPy, where torch raises."""
    dividend = a if torch.is_tensor(a) else torch.full((), a, dtype=b.dtype)
    if facts.integer_range(dividend.dtype) is None or is_number(b) and b != 0:
        return operation(dividend, b)
    divisor = b if torch.is_tensor(b) else torch.full((), b, dtype=dividend.dtype)
    zero = divisor == 0
    return torch.where(zero, 0, operation(dividend, torch.where(zero, 1, divisor)))


def power(a, b):
    """Integers to a power that may be negative are NumPy's to refuse."""
    base = a if torch.is_tensor(a) else b
    if facts.integer_range(base.dtype) is None:
        return a**b
    if not is_number(b):
        raise NotImplementedError("exponents of which one may be negative")
    if b < 0:
        raise ValueError("Integers to negative integer powers are not allowed.")
    return a**b


def equal(a, b):
    return a == b


def not_equal(a, b):
    return a != b


def less(a, b):
    return a < b


def less_equal(a, b):
    return a <= b


def greater(a, b):
    return a > b


def greater_equal(a, b):
    return a >= b


def negative(a):
    return -a


def positive(a):
    return a.clone()


def absolute(a):
    return a.clone() if a.dtype == torch.bool else torch.abs(a)


def bitwise_and(a, b):
    return a & b


def bitwise_or(a, b):
    return a | b


def bitwise_xor(a, b):
    return a ^ b


def clip_between(a, low, high):
    """minimum(maximum(a, low), high), as NumPy defines it."""
    return torch.minimum(torch.maximum(a, low), high)


def whole(operation, a):
    """Rounding leaves integers as they are."""
    integers = facts.integer_range(a.dtype) is not None or a.dtype == torch.bool
    return a.clone() if integers else operation(a)


def floor(a):
    return whole(torch.floor, a)


def ceil(a):
    return whole(torch.ceil, a)


def trunc(a):
    return whole(torch.trunc, a)


def rint(a):
    return whole(torch.round, a)


def sign(a):
    """NaN stays NaN, other than in torch."""
    return torch.where(a != a, a, torch.sign(a))


def reciprocal(a):
    return 1 / a if facts.integer_range(a.dtype) is None else floor_divide(1, a)


def degrees(a):
    return a * (180.0 / 3.141592653589793)


def radians(a):
    return a * (3.141592653589793 / 180.0)


def isnan(a):
    return a != a


# ufunc: what computes it on tensors.
OPERATIONS = {
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "divide": divide,
    "true_divide": divide,
    "floor_divide": floor_divide,
    "remainder": remainder,
    "mod": remainder,
    "fmod": fmod,
    "power": power,
    "pow": power,
    "float_power": power,
    "equal": equal,
    "not_equal": not_equal,
    "less": less,
    "less_equal": less_equal,
    "greater": greater,
    "greater_equal": greater_equal,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "logical_not": torch.logical_not,
    "bitwise_and": bitwise_and,
    "bitwise_or": bitwise_or,
    "bitwise_xor": bitwise_xor,
    "invert": torch.bitwise_not,
    "bitwise_not": torch.bitwise_not,
    "left_shift": torch.bitwise_left_shift,
    "right_shift": torch.bitwise_right_shift,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "clip": clip_between,
    "negative": negative,
    "positive": positive,
    "absolute": absolute,
    "abs": absolute,
    "fabs": torch.abs,
    "sign": sign,
    "signbit": torch.signbit,
    "copysign": torch.copysign,
    "square": torch.square,
    "sqrt": torch.sqrt,
    "reciprocal": reciprocal,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "logaddexp": torch.logaddexp,
    "logaddexp2": torch.logaddexp2,
    "sin": torch.sin,
    "cos": torch.cos,
    "tan": torch.tan,
    "arcsin": torch.asin,
    "asin": torch.asin,
    "arccos": torch.acos,
    "acos": torch.acos,
    "arctan": torch.atan,
    "atan": torch.atan,
    "arctan2": torch.atan2,
    "atan2": torch.atan2,
    "sinh": torch.sinh,
    "cosh": torch.cosh,
    "tanh": torch.tanh,
    "arcsinh": torch.asinh,
    "asinh": torch.asinh,
    "arccosh": torch.acosh,
    "acosh": torch.acosh,
    "arctanh": torch.atanh,
    "atanh": torch.atanh,
    "hypot": torch.hypot,
    "heaviside": torch.heaviside,
    "degrees": degrees,
    "rad2deg": degrees,
    "radians": radians,
    "deg2rad": radians,
    "floor": floor,
    "ceil": ceil,
    "trunc": trunc,
    "rint": rint,
    "isnan": isnan,
    "isinf": torch.isinf,
    "isfinite": torch.isfinite,
}

# Those that take a Python number beside a tensor.
WITH_NUMBERS = frozenset(
    (
        "add subtract multiply divide true_divide floor_divide remainder mod power pow float_power equal not_equal "
        "less less_equal greater greater_equal bitwise_and bitwise_or bitwise_xor"
    ).split()
)

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
    """numpy.where with three arguments; with one, only the values know the size of its result."""
    if x is None or y is None:
        raise NotImplementedError("numpy.where of a condition alone")
    a = x if is_number(x) else as_array(x)
    b = y if is_number(y) else as_array(y)
    dtype = facts.common_dtype((kind_of(a), kind_of(b)))
    chosen = tensor_of(as_array(condition)).to(torch.bool)
    return array_of(torch.where(chosen, at_dtype(a, dtype, False), at_dtype(b, dtype, False)))


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
    return delivered(scaled, out)


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
    return delivered(near, None)
