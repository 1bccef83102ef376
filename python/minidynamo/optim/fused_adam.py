"""The update of Adam and AdamW as one compiled kernel, for `fused=True`: each tensor is read once and written once."""

import functools

from .. import _C
from .._absent import absent_names as _absent_names


def _update_in_one_pass(param, grad, mean, square, largest, numbers, decoupled):
    """Adam's formulas over tensors of one dimension. `numbers` are tensors, so that other values need no other code."""
    shrink, decay, weight1, beta2, weight2, root, eps, rate = numbers.unbind()
    if not decoupled:
        grad = grad + param * decay
    mean.add_((grad - mean) * weight1)
    square.mul_(beta2).add_(grad * grad * weight2)
    if largest is not None:
        largest.copy_(_C.maximum(largest, square))
        square = largest
    param.copy_(param * shrink - mean / (square.sqrt() / root + eps) * rate)


@functools.cache
def _compiled_update(dtype, amsgrad, decoupled):
    """A function for each kind of tensors: programs with many kinds reach no limit of recompilations."""
    from .._dynamo import compile
    from .._dynamo.callables import own_copy

    return compile(own_copy(_update_in_one_pass), dynamic=True)


def update_fused(param, grad, group, state):
    """One update of `param` whose steps `state` counts already; False, and nothing done, where memory has gaps or the
    tensors are laid out in different ways.

    Raises RuntimeError for parameters that are not of floating point.
    """
    if not param.is_floating_point():
        raise RuntimeError(f"fused=True is for parameters of floating point, not {param.dtype}: leave it out")
    tensors = [param, grad, state["exp_avg"], state["exp_avg_sq"]]
    if group["amsgrad"]:
        tensors.append(state["max_exp_avg_sq"])
    if not all(tensor.is_contiguous() for tensor in tensors):
        return False
    lr, decay, steps = float(group["lr"]), group["weight_decay"], state["step"].item()
    beta1, beta2 = map(float, group["betas"])
    decoupled = group["decoupled_weight_decay"] or decay == 0
    shrink = 1 - lr * decay if decoupled else 1.0
    root, rate = (1 - beta2**steps) ** 0.5, lr / (1 - beta1**steps)
    numbers = [shrink, decay, 1 - beta1, beta2, 1 - beta2, root, group["eps"], rate]
    flat = [tensor.detach().view(-1) for tensor in tensors]
    largest = flat[4] if group["amsgrad"] else None
    update = _compiled_update(param.dtype, largest is not None, decoupled)
    update(*flat[:4], largest, _C.tensor(numbers, dtype=_C.float64, device=param.device), decoupled)
    return True


__getattr__ = _absent_names(__name__)
