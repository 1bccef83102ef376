"""What the formulas of several optimisers have in common.

Numbers that differ between steps are tensors of one number in compiled code, which serves all their values, and with
`capturable=True`, where a captured graph of a device reads them anew.
"""

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling


def to_scalar(value):
    """A tensor of one element as one without dimensions; numbers as they are."""
    return value.squeeze() if isinstance(value, _C.Tensor) and value.dim() != 0 else value


def number_of(state, name="step"):
    """A state of one number, as a float; in compiled code, and on a device, as a tensor (), float64."""
    number = state[name]
    return number.double() if is_compiling() or not number.is_cpu else number.item()


def add_scaled(param, other, factor):
    """param += factor * other. `factor` is a number or a tensor ()."""
    if isinstance(factor, _C.Tensor):
        param.add_(other * factor)
    else:
        param.add_(other, alpha=factor)


def add_quotient(param, numerator, denominator, factor):
    """param += factor * numerator / denominator. `factor` is a number or a tensor ()."""
    if isinstance(factor, _C.Tensor):
        param.add_(numerator * factor / denominator)
    else:
        param.addcdiv_(numerator, denominator, value=factor)


def decayed(param, grad, group):
    """The gradient with that of the weight decay; a decoupled decay shrinks the parameter instead."""
    decay = group["weight_decay"]
    if decay == 0:
        return grad
    if group.get("decoupled_weight_decay"):
        param.mul_(1 - to_scalar(group["lr"]) * decay)
        return grad
    return grad.add(param, alpha=decay)


__getattr__ = _absent_names(__name__)
