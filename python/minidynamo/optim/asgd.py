"""torch.optim.asgd: gradient descent that keeps the mean of its parameters."""

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import add_scaled, decayed, number_of, to_scalar

__all__ = ["ASGD"]


class ASGD(_PerParameter):
    """Averaged stochastic gradient descent (Polyak and Juditsky, "Acceleration of stochastic approximation by
    averaging", 1992).

    p = (1 - lambd * eta) * p - eta * g, where eta is lr at first and lr / (1 + lambd * lr * t)^alpha after step t. The
    state `ax` is p until step `t0`, and from there on the mean of p. `weight_decay` adds weight_decay * p to g.

    Raises ValueError for a negative lr or weight_decay.
    """

    _added_options = {"maximize": False, "capturable": False}
    _numbers = ("step", "eta", "mu")

    _listed = ("mu", "ax", "eta", "step")

    def __init__(
        self,
        params,
        lr=1e-2,
        lambd=1e-4,
        alpha=0.75,
        t0=1e6,
        weight_decay=0,
        foreach=None,
        maximize=False,
        differentiable=False,
        capturable=False,
    ):
        _check_lr(lr)
        _check_not_negative(weight_decay=weight_decay)
        options = dict(
            lr=lr,
            lambd=lambd,
            alpha=alpha,
            t0=t0,
            weight_decay=weight_decay,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            capturable=capturable,
        )
        super().__init__(params, options)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0)
        state["eta"] = _number_state(0).add_(to_scalar(group["lr"]))
        state["mu"] = _number_state(1)
        state["ax"] = _C.zeros_like(param)

    def _update(self, param, grad, group, state):
        grad = decayed(param, grad, group)
        lr, lambd, mean = to_scalar(group["lr"]), group["lambd"], state["ax"]
        eta, steps, begins = number_of(state, "eta"), number_of(state), number_of(state, "mu") == 1
        param.mul_(1 - lambd * eta)
        add_scaled(param, grad, -eta)
        if isinstance(begins, _C.Tensor):
            mean.copy_(_C.where(begins, param, mean + (param - mean) * state["mu"]))
        elif begins:
            mean.copy_(param)
        else:
            mean.add_(param.sub(mean).mul_(state["mu"]))
        averaged = steps - group["t0"]
        averaged = averaged.clamp(min=1) if isinstance(averaged, _C.Tensor) else max(1, averaged)
        for name, value in (("eta", lr / (1 + lambd * lr * steps) ** group["alpha"]), ("mu", 1 / averaged)):
            state[name].copy_(value if isinstance(value, _C.Tensor) else _number_state(value))


__getattr__ = _absent_names(__name__)
