"""torch.optim.radam: Adam that waits until its average of squares is known well enough."""

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_betas, _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import decayed, number_of, to_scalar

__all__ = ["RAdam"]


class RAdam(_PerParameter):
    """RAdam (Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", 2019).

    m and v as in Adam. r_inf = 2 / (1 - beta2) - 1 and r = r_inf - 2 * t * beta2^t / (1 - beta2^t) are lengths of
    averages. While r <= 5: p -= lr * m / (1 - beta1^t); then this is multiplied by sqrt(1 - beta2^t) / (sqrt(v) + eps)
    and by sqrt((r - 4) * (r - 2) * r_inf / ((r_inf - 4) * (r_inf - 2) * r)).
    `weight_decay` adds weight_decay * p to g; with `decoupled_weight_decay` p shrinks instead, as in AdamW.

    Raises ValueError for negative options and betas that are not in [0, 1).
    """

    _added_options = {"maximize": False, "capturable": False, "decoupled_weight_decay": False}

    _listed = ("exp_avg", "exp_avg_sq", "step")

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        decoupled_weight_decay=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
    ):
        _check_lr(lr)
        _check_not_negative(eps=eps)
        _check_betas(betas)
        _check_not_negative(weight_decay=weight_decay)
        options = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            decoupled_weight_decay=decoupled_weight_decay,
            differentiable=differentiable,
        )
        super().__init__(params, options)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0)
        state["exp_avg"] = _C.zeros_like(param)
        state["exp_avg_sq"] = _C.zeros_like(param)

    def _update(self, param, grad, group, state):
        grad = decayed(param, grad, group)
        beta1, beta2 = group["betas"]
        steps = number_of(state)
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction2 = 1 - beta2**steps
        change = mean / (1 - beta1**steps) * to_scalar(group["lr"])
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * steps * beta2**steps / correction2
        is_known = length > 5.0
        if isinstance(is_known, _C.Tensor) or is_known:
            left = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
            scaled = change * (correction2**0.5 / square.sqrt().add_(group["eps"])) * left**0.5
            change = scaled if is_known is True else _C.where(is_known, scaled, change)
        param.add_(change, alpha=-1.0)


__getattr__ = _absent_names(__name__)
