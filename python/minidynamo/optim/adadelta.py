"""torch.optim.adadelta: steps as large as the last ones, by the ratio of two running averages."""

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import add_scaled, decayed, to_scalar

__all__ = ["Adadelta"]


class Adadelta(_PerParameter):
    """Adadelta (Zeiler, "ADADELTA: An Adaptive Learning Rate Method", 2012).

    v and u are running averages of g^2 and of d^2 with the weight `rho`, d = sqrt(u + eps) / sqrt(v + eps) * g:
    p -= lr * d. `weight_decay` adds weight_decay * p to g.

    Raises ValueError for negative options and a rho above 1.
    """

    _added_options = {"maximize": False, "capturable": False}

    _listed = ("square_avg", "acc_delta", "step")

    def __init__(
        self,
        params,
        lr=1.0,
        rho=0.9,
        eps=1e-6,
        weight_decay=0,
        foreach=None,
        *,
        capturable=False,
        maximize=False,
        differentiable=False,
    ):
        _check_lr(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"rho has to be between 0 and 1: {rho}")
        _check_not_negative(eps=eps, weight_decay=weight_decay)
        options = dict(
            lr=lr,
            rho=rho,
            eps=eps,
            weight_decay=weight_decay,
            maximize=maximize,
            capturable=capturable,
            foreach=foreach,
            differentiable=differentiable,
        )
        super().__init__(params, options)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0)
        state["square_avg"] = _C.zeros_like(param)
        state["acc_delta"] = _C.zeros_like(param)

    def _update(self, param, grad, group, state):
        grad = decayed(param, grad, group)
        rho, eps = group["rho"], group["eps"]
        square, change = state["square_avg"], state["acc_delta"]
        square.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        delta = change.add(eps).sqrt_().div_(square.add(eps).sqrt_()).mul_(grad)
        change.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        add_scaled(param, delta, -to_scalar(group["lr"]))


__getattr__ = _absent_names(__name__)
