"""What computes ufuncs on tensors of the loop's dtypes, and reductions over axes: the tables OPERATIONS and FOLDS."""

import minidynamo as torch

from ..bridge import is_number
from .dtype_facts import integer_range


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
    if integer_range(dividend.dtype) is None or is_number(b) and b != 0:
        return operation(dividend, b)
    divisor = b if torch.is_tensor(b) else torch.full((), b, dtype=dividend.dtype)
    zero = divisor == 0
    return torch.where(zero, 0, operation(dividend, torch.where(zero, 1, divisor)))


def power(a, b):
    """Integers to a power that may be negative are NumPy's to refuse."""
    base = a if torch.is_tensor(a) else b
    if integer_range(base.dtype) is None:
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
    integers = integer_range(a.dtype) is not None or a.dtype == torch.bool
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
    return 1 / a if integer_range(a.dtype) is None else floor_divide(1, a)


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
    "conjugate": torch.conj_physical,
    "conj": torch.conj_physical,
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


# --- folds over axes --------------------------------------------------------------------------------------------------


def sum_over(value, dims, keep):
    return torch.sum(value, dim=dims, keepdim=keep)


def prod_over(value, dims, keep):
    for d in sorted(dims, reverse=True):
        value = torch.prod(value, dim=d, keepdim=keep)
    return value


def max_over(value, dims, keep):
    return torch.amax(value, dim=dims, keepdim=keep)


def min_over(value, dims, keep):
    return torch.amin(value, dim=dims, keepdim=keep)


def mean_over(value, dims, keep):
    return torch.mean(value, dim=dims, keepdim=keep)


def all_over(value, dims, keep):
    for d in sorted(dims, reverse=True):
        value = torch.all(value, dim=d, keepdim=keep)
    return value


def any_over(value, dims, keep):
    for d in sorted(dims, reverse=True):
        value = torch.any(value, dim=d, keepdim=keep)
    return value


def nansum_over(value, dims, keep):
    return torch.sum(torch.where(value != value, torch.zeros_like(value), value), dim=dims, keepdim=keep)


FOLDS = {"sum": sum_over, "prod": prod_over, "max": max_over, "min": min_over}
