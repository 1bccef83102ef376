"""For each operator, and each op of this package that is recorded itself, the gradient of every tensor argument.
`gradients.py` says what a formula's parameters are; "*" gives several arguments' gradients at once, by name."""

import math

from .. import _C
from .derivatives import call as operator

_LN2, _LN10 = math.log(2), math.log(10)


def _scaled(x, number):
    return operator("mul", x, number, overload="Scalar")


def _divided(x, number):
    return operator("div", x, number, overload="Scalar")


def _plus(x, number):
    return operator("add", x, number, overload="Scalar")


def _number(value, like):
    return operator("scalar_tensor", value, dtype=like.dtype, layout=like.layout, device=like.device)


def _where(mask, grad):
    """The gradient where the mask holds, 0 elsewhere."""
    return _C.where(mask, grad, _number(0, grad))


def _where_not(mask, grad):
    return _C.where(mask, _number(0, grad), grad)


def _zeroed(x, mask):
    """0 where the mask holds; `x` is nobody else's."""
    if _C.is_grad_enabled():
        return operator("masked_fill", x, mask, 0, overload="Scalar")
    return operator("masked_fill_", x, mask, 0, overload="Scalar")


def _sign(x):
    return operator("sgn", x)


def _kind(grad):
    return {"dtype": grad.dtype, "layout": grad.layout, "device": grad.device}


def _dims(call, dim):
    rank = call.rank("self")
    listed = list(dim) if isinstance(dim, (list, tuple)) else [] if dim is None else [dim]
    return sorted(d % rank for d in listed) if rank else []


def _unreduced(x, call, dim, keepdim):
    """With dimensions of 1 where a reduction has taken some away."""
    if not keepdim:
        for d in _dims(call, dim):
            x = x.unsqueeze(d)
    return x


def _same(grad):
    return grad


def _unary(formula):
    return {"self": formula}


# --- Arithmetic ------------------------------------------------------------------------------------------------------


def _added(grad, alpha=1):
    return grad if alpha == 1 else _scaled(grad, alpha)


def _power_of_number(grad, self, exponent):
    if not isinstance(exponent, (int, float)):
        return NotImplemented
    if exponent == 0:
        return _C.zeros_like(self)
    return grad * _scaled(operator("pow", self, exponent - 1, overload="Tensor_Scalar"), exponent)


def _base_of_power(grad, self, exponent):
    if not isinstance(exponent, _C.Tensor):
        return _power_of_number(grad, self, exponent)
    power = grad * (exponent * self ** operator("sub", exponent, 1, overload="Scalar"))
    zero = _number(0, grad)
    return _C.where(exponent == 0, zero, power)


def _exponent_of_power(grad, self, exponent, result):
    if not isinstance(self, _C.Tensor):
        if self <= 0:
            return NotImplemented
        return grad * _scaled(result, math.log(self))
    above = exponent >= 0
    nothing = _C.logical_and(self == 0, above)
    flow = result * self.log()
    return grad * _C.where(nothing, _number(0, flow), flow)


def _angle_parts(grad, self, other, call):
    squares = self * self + other * other
    scale = squares.reciprocal()
    scale = grad * operator("masked_fill", scale, squares == 0, 0, overload="Scalar")
    found = {}
    if call.wanted.get("self"):
        found["self"] = scale * other
    if call.wanted.get("other"):
        found["other"] = scale * -self
    return found


def _rest(grad, self, other, rounding_mode):
    whole = _C.div(self, other, rounding_mode=rounding_mode)
    return -grad * whole


def _quotient_back(of):
    """A rounded quotient is flat."""

    def formula(grad, self, other, rounding_mode):
        if rounding_mode is not None:
            return _C.zeros_like(grad)
        return grad / other if of == "self" else _quotient(grad, self, other)

    return formula


def _inverse(grad, result):
    square = result * result
    return -grad * square


def _factor_of_log(grad, self, other):
    if not isinstance(self, _C.Tensor) or not isinstance(other, _C.Tensor):
        return NotImplemented
    flow = grad.xlogy(other)
    low = other <= 0
    return operator("masked_fill", flow, (self == 0).bitwise_and(low), 0, overload="Scalar")


def _part(grad, weight, rest=False):
    if isinstance(weight, _C.Tensor):
        return NotImplemented
    return _scaled(grad, 1 - weight if rest else weight)


_ARITHMETIC = {
    "add": {"self": _same, "other": _added},
    "sub": {"self": _same, "other": lambda grad, alpha=1: _added(-grad, alpha)},
    "rsub": {"self": lambda grad, alpha=1: _added(-grad, alpha), "other": _same},
    "mul.Scalar": {"self": lambda grad, other: _scaled(grad, other)},
    "div.Scalar": {"self": lambda grad, other: _divided(grad, other)},
    "mul": {"self": lambda grad, other: grad * other, "other": lambda grad, self: grad * self},
    "div": {
        "self": lambda grad, other: grad / other,
        "other": lambda grad, self, other: _quotient(grad, self, other),
    },
    "remainder": {
        "self": _same,
        "other": lambda grad, self, other: _rest(grad, self, other, "floor"),
    },
    "fmod": {"self": _same, "other": lambda grad, self, other: _rest(grad, self, other, "trunc")},
    "div.mode": {"self": _quotient_back("self"), "other": _quotient_back("other")},
    "pow.Tensor_Scalar": {"self": _power_of_number},
    "pow": {"self": _base_of_power, "exponent": _exponent_of_power},
    "pow.scalar": {"self": _power_of_number},
    "square": {"self": lambda grad, self: _power_of_number(grad, self, 2)},
    "neg": _unary(lambda grad: -grad),
    "abs": _unary(lambda grad, self: grad * _sign(self)),
    "sign": _unary(lambda grad: _C.zeros_like(grad)),
    "reciprocal": _unary(_inverse),
    "addcmul": {
        "self": _same,
        "tensor1": lambda grad, tensor2, value=1: grad * _scaled(tensor2, value),
        "tensor2": lambda grad, tensor1, value=1: grad * _scaled(tensor1, value),
    },
    "hypot": {
        "self": lambda grad, self, result: grad * self / result,
        "other": lambda grad, other, result: grad * other / result,
    },
    "logaddexp": {
        "self": lambda grad, self, other: grad / _plus((other - self).exp(), 1),
        "other": lambda grad, self, other: grad / _plus((self - other).exp(), 1),
    },
    "xlogy": {"self": _factor_of_log, "other": lambda grad, self, other: grad * self / other},
    "atan2": {"*": _angle_parts},
    "lerp": {"self": lambda grad, weight: _part(grad, weight, True), "end": lambda grad, weight: _part(grad, weight)},
}


def _quotient(grad, self, other):
    share = self / other / other
    return -grad * share


# --- Of one operand --------------------------------------------------------------------------------------------------

_ONE_OPERAND = {
    "exp": lambda grad, result: grad * result,
    "exp2": lambda grad, result: _scaled(grad * result, _LN2),
    "expm1": lambda grad, result: grad * _plus(result, 1),
    "log": lambda grad, self: grad / self,
    "log2": lambda grad, self: grad / _scaled(self, _LN2),
    "log10": lambda grad, self: grad / _scaled(self, _LN10),
    "log1p": lambda grad, self: grad / _plus(self, 1),
    "sqrt": lambda grad, result: grad / _scaled(result, 2),
    "rsqrt": lambda grad, result: _cubed_back(grad, result),
    "sin": lambda grad, self: grad * self.cos(),
    "cos": lambda grad, self: grad * -self.sin(),
    "tan": lambda grad, result: grad * _plus(result**2, 1),
    "sinh": lambda grad, self: grad * self.cosh(),
    "cosh": lambda grad, self: grad * self.sinh(),
    "tanh": lambda grad, result: operator("tanh_backward", grad, result),
    "sigmoid": lambda grad, result: operator("sigmoid_backward", grad, result),
    "asin": lambda grad, self: grad * _plus(-self * self, 1).rsqrt(),
    "acos": lambda grad, self: grad * -_plus(-self * self, 1).rsqrt(),
    "atan": lambda grad, self: grad / _plus(self * self, 1),
    "asinh": lambda grad, self: grad * _plus(self**2, 1).rsqrt(),
    "acosh": lambda grad, self: grad * operator("sub", self**2, 1, overload="Scalar").rsqrt(),
    "atanh": lambda grad, self: grad * operator("rsub", self**2, 1, overload="Scalar").reciprocal(),
    "erf": lambda grad, self: _scaled((-(self**2)).exp(), 2 / math.sqrt(math.pi)) * grad,
    "erfc": lambda grad, self: _scaled((-(self**2)).exp(), -2 / math.sqrt(math.pi)) * grad,
    "lgamma": lambda grad, self: grad * self.digamma(),
    "digamma": lambda grad, self: grad * operator("polygamma", 1, self),
    "erfinv": lambda grad, self: _scaled((self.erfinv() ** 2).exp(), math.sqrt(math.pi) / 2) * grad,
    "deg2rad": lambda grad: _scaled(grad, math.pi / 180),
    "rad2deg": lambda grad: _scaled(grad, 180 / math.pi),
    "floor": lambda grad: _C.zeros_like(grad),
    "ceil": lambda grad: _C.zeros_like(grad),
    "trunc": lambda grad: _C.zeros_like(grad),
    "round": lambda grad: _C.zeros_like(grad),
    "clone": _same,
    "compact": _same,
    "convert": _same,
    "frac": _same,
    "round.decimals": lambda grad: _C.zeros_like(grad),
    "positive": _same,
    "relu": lambda grad, result: operator("threshold_backward", grad, result, 0),
    "silu": lambda grad, self: operator("silu_backward", grad, self),
    "mish": lambda grad, self: operator("mish_backward", grad, self),
    "hardswish": lambda grad, self: operator("hardswish_backward", grad, self),
    "hardsigmoid": lambda grad, self: operator("hardsigmoid_backward", grad, self),
    "gelu": lambda grad, self, approximate="none": operator(
        "gelu_backward", grad, self, **({} if approximate == "none" else {"approximate": approximate})
    ),
    "gelu_erf": lambda grad, self: operator("gelu_backward", grad, self),
    "gelu_tanh": lambda grad, self: operator("gelu_backward", grad, self, approximate="tanh"),
    "leaky_relu": lambda grad, self, negative_slope: operator("leaky_relu_backward", grad, self, negative_slope, False),
    "elu": lambda grad, self, alpha, scale=1, input_scale=1: operator(
        "elu_backward", grad, alpha, scale, input_scale, False, self
    ),
    "selu": lambda grad, self: operator("elu_backward", grad, 1.6732632423543772, 1.0507009873554805, 1, False, self),
    "celu": lambda grad, self, alpha: operator("elu_backward", grad, alpha, 1, 1 / alpha, False, self),
    "hardtanh": lambda grad, self, min_val, max_val: operator("hardtanh_backward", grad, self, min_val, max_val),
    "relu6": lambda grad, self: operator("hardtanh_backward", grad, self, 0.0, 6.0),
    "softplus": lambda grad, self, beta, threshold: operator("softplus_backward", grad, self, beta, threshold),
    "softshrink": lambda grad, self, lambd: operator("softshrink_backward", grad, self, lambd),
    "hardshrink": lambda grad, self, lambd: operator("hardshrink_backward", grad, self, lambd),
    "threshold": lambda grad, self, threshold: operator("threshold_backward", grad, self, threshold),
    "logsigmoid": lambda grad, self: operator("log_sigmoid_backward", grad, self, self),
    "log_sigmoid_forward": lambda grad, self, result1: operator("log_sigmoid_backward", grad, self, result1),
    "glu": lambda grad, self, dim: operator("glu_backward", grad, self, dim),
    "logit": lambda grad, self, eps: operator("logit_backward", grad, self, *([] if eps is None else [eps])),
}


def _cubed_back(grad, result):
    cube = result**3
    return _scaled(grad, -0.5) * cube


# --- Limits and choice -----------------------------------------------------------------------------------------------


def _of_extreme(loses, wins):
    def of(comparison):
        def formula(grad, self, other):
            half = _divided(grad, 2)
            shared = _C.where(self == other, half, grad)
            return _zeroed(shared, getattr(self, comparison)(other))

        return formula

    return {"self": of(loses), "other": of(wins)}


def _wins(self, other, comparison):
    return operator("logical_or_", getattr(self, comparison)(other), other.isnan())


def _of_number_extreme(comparison):
    def first(grad, self, other):
        wins = _wins(self, other, comparison)
        return operator("masked_fill", grad, operator("logical_not_", wins), 0, overload="Scalar")

    def second(grad, self, other):
        return operator("masked_fill", grad, _wins(self, other, comparison), 0, overload="Scalar")

    return {"self": first, "other": second}


def _clamped(grad, self, min=None, max=None):
    if isinstance(min, _C.Tensor) or isinstance(max, _C.Tensor):
        return NotImplemented
    zero = _number(0, grad)
    if min is not None and max is not None:
        low, high = self >= min, self <= max
        return _C.where(operator("logical_and_", low, high), grad, zero)
    return _C.where(self >= min if max is None else self <= max, grad, zero)


_LIMITS = {
    "maximum": _of_extreme("lt", "gt"),
    "minimum": _of_extreme("gt", "lt"),
    "fmax": _of_number_extreme("ge"),
    "fmin": _of_number_extreme("le"),
    "nan_to_num": {"self": lambda grad, self: grad * self.isfinite()},
    "clamp": {"self": _clamped},
    "clamp_min": {"self": lambda grad, self, min: _clamped(grad, self, min)},
    "clamp_max": {"self": lambda grad, self, max: _clamped(grad, self, None, max)},
    "where": {
        "self": lambda grad, condition: _where(condition, grad),
        "other": lambda grad, condition: _where_not(condition, grad),
    },
    "masked_fill": {"self": lambda grad, mask: operator("masked_fill", grad, mask, 0, overload="Scalar")},
    "tril": _unary(lambda grad, diagonal: grad.tril(diagonal)),
    "triu": _unary(lambda grad, diagonal: grad.triu(diagonal)),
}


# --- Matrix products -------------------------------------------------------------------------------------------------


def _by_columns(call, name):
    """Whether a matrix lies in memory as a transposed weight does."""
    rows, columns = call.type_of(name).stride()
    return rows == 1 and columns != 1


def _left(grad, right, call, name):
    return grad.mm(right.t())


def _right(grad, left, call, name):
    return grad.t().mm(left).t() if _by_columns(call, name) else left.t().mm(grad)


def _plain(*numbers):
    return all(n == 1 for n in numbers)


def _addmm(which):
    def formula(grad, mat1, mat2, beta, alpha, call):
        if not _plain(beta, alpha):
            return NotImplemented
        return _left(grad, mat2, call, "mat1") if which == "mat1" else _right(grad, mat1, call, "mat2")

    return formula


_PRODUCTS = {
    "mm": {
        "self": lambda grad, mat2, call: _left(grad, mat2, call, "self"),
        "mat2": lambda grad, self, call: _right(grad, self, call, "mat2"),
    },
    "addmm": {
        "self": lambda grad, beta: _added(grad, beta),
        "mat1": _addmm("mat1"),
        "mat2": _addmm("mat2"),
    },
    "bmm": {
        "self": lambda grad, mat2: grad.bmm(mat2.transpose(1, 2)),
        "mat2": lambda grad, self: self.transpose(1, 2).bmm(grad),
    },
    "baddbmm": {
        "self": lambda grad, beta: _added(grad, beta),
        "batch1": lambda grad, batch2, beta, alpha: (
            grad.bmm(batch2.transpose(1, 2)) if _plain(beta, alpha) else NotImplemented
        ),
        "batch2": lambda grad, batch1, beta, alpha: (
            batch1.transpose(1, 2).bmm(grad) if _plain(beta, alpha) else NotImplemented
        ),
    },
    "addmv": {
        "self": lambda grad, beta: _added(grad, beta),
        "mat": lambda grad, vec, beta, alpha: grad.view([-1, 1]) * vec if _plain(beta, alpha) else NotImplemented,
        "vec": lambda grad, mat, beta, alpha: mat.t().mv(grad) if _plain(beta, alpha) else NotImplemented,
    },
    "addr": {
        "self": lambda grad, beta: _added(grad, beta),
        "vec1": lambda grad, vec2, beta, alpha: grad.mv(vec2) if _plain(beta, alpha) else NotImplemented,
        "vec2": lambda grad, vec1, beta, alpha: grad.t().mv(vec1) if _plain(beta, alpha) else NotImplemented,
    },
    "vdot": {
        "self": lambda grad, other: NotImplemented if other.is_complex() else grad * other,
        "other": lambda grad, self: NotImplemented if self.is_complex() else grad * self,
    },
    "mv": {
        "self": lambda grad, vec: grad.view([-1, 1]) * vec,
        "vec": lambda grad, self: self.t().mv(grad),
    },
    "dot": {"self": lambda grad, tensor: grad * tensor, "tensor": lambda grad, self: grad * self},
    "linalg_cross": {
        "self": lambda grad, other, dim: operator("linalg_cross", other, grad, dim=dim),
        "other": lambda grad, self, dim: operator("linalg_cross", grad, self, dim=dim),
    },
}

FORMULAS = {
    **_ARITHMETIC,
    **{name: _unary(formula) for name, formula in _ONE_OPERAND.items()},
    **_LIMITS,
    **_PRODUCTS,
}
