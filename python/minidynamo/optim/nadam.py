"""torch.optim.nadam: Adam with Nesterov's momentum."""

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_betas, _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import add_quotient, decayed, number_of, to_scalar

__all__ = ["NAdam"]


class NAdam(_PerParameter):
    """NAdam (Dozat, "Incorporating Nesterov Momentum into Adam", 2016).

    m and v as in Adam; mu_t = beta1 * (1 - 0.96^(t * momentum_decay) / 2) and M_t is the product of all so far:
    p -= lr * ((1 - mu_t) / (1 - M_t) * g + mu_(t+1) / (1 - M_(t+1)) * m) / (sqrt(v / (1 - beta2^t)) + eps).
    `weight_decay` adds weight_decay * p to g; with `decoupled_weight_decay` p shrinks instead, as in AdamW.

    Raises ValueError for negative options and betas that are not in [0, 1).
    """

    _added_options = {"maximize": False, "capturable": False, "decoupled_weight_decay": False}
    _numbers = ("step", "mu_product")

    _listed = ("exp_avg", "exp_avg_sq", "mu_product", "step")

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        momentum_decay=4e-3,
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
        _check_not_negative(weight_decay=weight_decay, momentum_decay=momentum_decay)
        options = dict(
            lr=lr,
            betas=betas,
            eps=eps,
            weight_decay=weight_decay,
            momentum_decay=momentum_decay,
            decoupled_weight_decay=decoupled_weight_decay,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
        )
        super().__init__(params, options)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0)
        state["mu_product"] = _number_state(1)
        state["exp_avg"] = _C.zeros_like(param)
        state["exp_avg_sq"] = _C.zeros_like(param)

    def _update(self, param, grad, group, state):
        grad = decayed(param, grad, group)
        beta1, beta2 = group["betas"]
        lr, steps = to_scalar(group["lr"]), number_of(state)
        mu, mu_next = (beta1 * (1.0 - 0.5 * 0.96 ** (t * group["momentum_decay"])) for t in (steps, steps + 1))
        state["mu_product"].mul_(mu)
        product = number_of(state, "mu_product")
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        scale = square.div(1 - beta2**steps).sqrt().add_(group["eps"])
        add_quotient(param, grad, scale, -lr * (1.0 - mu) / (1.0 - product))
        add_quotient(param, mean, scale, (-lr * mu_next) / (1.0 - product * mu_next))


__getattr__ = _absent_names(__name__)
