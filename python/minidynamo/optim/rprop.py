"""torch.optim.rprop: steps whose sizes depend on the signs of gradients only."""

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_lr, _number_state, _PerParameter
from .update_terms import to_scalar

__all__ = ["Rprop"]


class Rprop(_PerParameter):
    """Resilient backpropagation (Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning:
    the RPROP algorithm", 1993).

    Each element has a step size, `lr` at first. It grows by etas[1] while its gradient keeps its sign; when that
    changes, it shrinks by etas[0] and the gradient counts as 0. p -= step size * sign(g). Step sizes stay within
    `step_sizes`.

    Raises ValueError for a negative lr, and unless 0 < etas[0] < 1 < etas[1].
    """

    _added_options = {"maximize": False, "capturable": False}

    _listed = ("prev", "step_size", "step")

    def __init__(
        self,
        params,
        lr=1e-2,
        etas=(0.5, 1.2),
        step_sizes=(1e-6, 50),
        *,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        _check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"etas have to be below and above 1, and above 0: {etas[0]}, {etas[1]}")
        options = dict(
            lr=lr,
            etas=etas,
            step_sizes=step_sizes,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            capturable=capturable,
        )
        super().__init__(params, options)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0)
        state["prev"] = _C.zeros_like(param)
        state["step_size"] = _C.zeros_like(param).fill_(to_scalar(group["lr"]))

    def _update(self, param, grad, group, state):
        shrink, grow = group["etas"]
        smallest, largest = group["step_sizes"]
        trend = grad.mul(state["prev"]).sign()  # NaN stays NaN
        turned = trend.lt(0)
        factor = trend.masked_fill(trend.gt(0), grow).masked_fill(turned, shrink).masked_fill(trend.eq(0), 1)
        state["step_size"].mul_(factor).clamp_(smallest, largest)
        grad = grad.masked_fill(turned, 0)
        param.addcmul_(grad.sign(), state["step_size"], value=-1)
        state["prev"].copy_(grad)


__getattr__ = _absent_names(__name__)
