"""torch.optim.adam: steps scaled by running averages of the gradient and of its square."""

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling
from .fused_adam import update_fused
from .optimizer import _check_betas, _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import add_quotient, decayed, number_of, to_scalar

__all__ = ["Adam"]


class Adam(_PerParameter):
    """Adam (Kingma and Ba, "Adam: A Method for Stochastic Optimization", 2014).

    m and v are running averages of g and g^2 with the weights `betas`, c1 = 1 - beta1^t and c2 = 1 - beta2^t correct
    for their start at 0: p -= lr / c1 * m / (sqrt(v) / sqrt(c2) + eps). `amsgrad` uses the largest v so far (Reddi et
    al., "On the Convergence of Adam and Beyond", 2018). `weight_decay` adds weight_decay * p to g; with
    `decoupled_weight_decay` p shrinks by lr * weight_decay * p instead, as AdamW. `fused` updates each parameter by one
    compiled kernel, in place of eight operations.

    Raises ValueError for negative options and betas that are not in [0, 1), and when it steps RuntimeError for `fused`
    with parameters that are not of floating point.
    """

    _added_options = {
        "amsgrad": False,
        "maximize": False,
        "capturable": False,
        "decoupled_weight_decay": False,
        "fused": None,
    }

    _listed = ("exp_avg", "exp_avg_sq", "max_exp_avg_sq", "step")

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=0,
        amsgrad=False,
        *,
        foreach=None,
        maximize=False,
        capturable=False,
        differentiable=False,
        fused=None,
        decoupled_weight_decay=False,
    ):
        if isinstance(lr, _C.Tensor) and foreach and not capturable:
            raise ValueError("foreach=True takes no tensor as lr, unless capturable=True")
        _check_lr(lr)
        _check_not_negative(eps=eps)
        _check_betas(betas)
        _check_not_negative(weight_decay=weight_decay)
        _check_kinds_of_betas(betas, foreach and not capturable)
        options = dict(
            lr=lr,
            betas=tuple(map(to_scalar, betas)),
            eps=eps,
            weight_decay=weight_decay,
            amsgrad=amsgrad,
            maximize=maximize,
            foreach=foreach,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=decoupled_weight_decay,
        )
        super().__init__(params, options)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0, group["fused"])
        names = ["exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else [])]
        state.update({name: _C.zeros_like(param) for name in names})

    def _update(self, param, grad, group, state):
        in_one = group["fused"] and not group["capturable"] and not is_compiling()
        if in_one and update_fused(param, grad, group, state):
            return
        grad = decayed(param, grad, group)
        beta1, beta2 = group["betas"]
        mean, square = state["exp_avg"], state["exp_avg_sq"]
        mean.lerp_(grad, 1 - beta1)
        square.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        steps = number_of(state)
        rate = to_scalar(group["lr"]) / (1 - beta1**steps)
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            square = largest.copy_(_C.maximum(largest, square))
        scale = square.sqrt().div_((1 - beta2**steps) ** 0.5).add_(group["eps"])
        add_quotient(param, mean, scale, -rate)


def _check_kinds_of_betas(betas, only_numbers):
    are_tensors = all(isinstance(beta, _C.Tensor) for beta in betas[:2])
    if not are_tensors and not all(isinstance(beta, float) for beta in betas[:2]):
        raise ValueError(f"betas have to be two floats or two tensors, not {betas}")
    if are_tensors:
        if only_numbers:
            raise ValueError("foreach=True takes no tensors as betas, unless capturable=True")
        if any(beta.numel() != 1 for beta in betas):
            raise ValueError("tensors as betas need one element each")


__getattr__ = _absent_names(__name__)
