"""torch.optim.rmsprop: gradients divided by the root of their mean square."""

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import add_quotient, add_scaled, decayed, to_scalar

__all__ = ["RMSprop"]


class RMSprop(_PerParameter):
    """RMSprop (Hinton, "Neural Networks for Machine Learning", lecture 6e, 2012).

    v is the running average of g^2 with the weight `alpha`: p -= lr * g / (sqrt(v) + eps). `centered` subtracts the
    square of the average of g from v (Graves, "Generating Sequences With Recurrent Neural Networks", 2013). With
    `momentum` p -= lr * b where b = momentum * b + g / (sqrt(v) + eps). `weight_decay` adds weight_decay * p to g.

    Raises ValueError for negative options.
    """

    _added_options = {"momentum": 0, "centered": False, "maximize": False, "capturable": False}

    _listed = ("square_avg", "momentum_buffer", "grad_avg", "step")

    def __init__(
        self,
        params,
        lr=1e-2,
        alpha=0.99,
        eps=1e-8,
        weight_decay=0,
        momentum=0,
        centered=False,
        capturable=False,
        foreach=None,
        maximize=False,
        differentiable=False,
    ):
        _check_lr(lr)
        _check_not_negative(eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        options = dict(
            lr=lr,
            momentum=momentum,
            alpha=alpha,
            eps=eps,
            centered=centered,
            weight_decay=weight_decay,
            capturable=capturable,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
        )
        super().__init__(params, options)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0)
        state["square_avg"] = _C.zeros_like(param)
        if group["momentum"] > 0:
            state["momentum_buffer"] = _C.zeros_like(param)
        if group["centered"]:
            state["grad_avg"] = _C.zeros_like(param)

    def _update(self, param, grad, group, state):
        grad = decayed(param, grad, group)
        alpha, lr = group["alpha"], to_scalar(group["lr"])
        square = state["square_avg"]
        square.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            square = square.addcmul(mean, mean, value=-1)
        scale = square.sqrt().add_(group["eps"])
        if group["momentum"] > 0:
            buffer = state["momentum_buffer"]
            buffer.mul_(group["momentum"]).addcdiv_(grad, scale)
            add_scaled(param, buffer, -lr)
        else:
            add_quotient(param, grad, scale, -lr)


__getattr__ = _absent_names(__name__)
