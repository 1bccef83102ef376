"""torch.optim.adamax: Adam with the largest gradient in place of the mean square."""

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_betas, _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import add_quotient, decayed, number_of, to_scalar

__all__ = ["Adamax"]


class Adamax(_PerParameter):
    """Adamax (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2014, section 7).

    m as in Adam, u = max(beta2 * u, |g| + eps): p -= lr / (1 - beta1^t) * m / u. `weight_decay` adds
    weight_decay * p to g.

    Raises ValueError for negative options and betas that are not in [0, 1).
    """

    _added_options = {"maximize": False, "capturable": False}

    _listed = ("exp_avg", "exp_inf", "step")

    def __init__(
        self,
        params,
        lr=2e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        capturable=False,
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
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            capturable=capturable,
        )
        super().__init__(params, options)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0)
        state["exp_avg"] = _C.zeros_like(param)
        state["exp_inf"] = _C.zeros_like(param)

    def _update(self, param, grad, group, state):
        grad = decayed(param, grad, group)
        beta1, beta2 = group["betas"]
        mean, largest = state["exp_avg"], state["exp_inf"]
        mean.lerp_(grad, 1 - beta1)
        largest.copy_(_C.maximum(largest.mul_(beta2), grad.abs().add_(group["eps"])))
        rate = to_scalar(group["lr"]) / (1 - beta1 ** number_of(state))
        add_quotient(param, mean, largest, -rate)


__getattr__ = _absent_names(__name__)
