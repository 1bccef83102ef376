"""torch.optim.Muon: steps of matrices along the nearest orthogonal one."""

import math

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_lr, _check_not_negative, _PerParameter
from .update_terms import add_scaled, to_scalar

__all__ = ["Muon"]
_ADJUSTMENTS = (None, "original", "match_rms_adamw")


class Muon(_PerParameter):
    """Muon (Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024), for matrices.

    b is a running average of g with the weight `momentum`, u = b, or with `nesterov` g + momentum * (b - g). `ns_steps`
    Newton-Schulz steps with the coefficients a, b, c bring the singular values of u near 1, in bfloat16.
    p shrinks by lr * weight_decay * p, and p -= lr * s * u, with s = sqrt(max(1, rows / columns)), or
    0.2 * sqrt(max(rows, columns)) for adjust_lr_fn="match_rms_adamw" (Liu et al., "Muon is Scalable for LLM Training").

    Raises ValueError for negative options, unknown adjustments and parameters of other than two dimensions.
    """

    _common_options = {}
    _numbers = ()
    _listed = ("momentum_buffer",)

    def __init__(
        self,
        params,
        lr=1e-3,
        weight_decay=0.1,
        momentum=0.95,
        nesterov=True,
        ns_coefficients=(3.4445, -4.7750, 2.0315),
        eps=1e-7,
        ns_steps=5,
        adjust_lr_fn=None,
    ):
        _check_lr(lr)
        _check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if adjust_lr_fn not in _ADJUSTMENTS:
            raise ValueError(f"adjust_lr_fn is one of {', '.join(map(repr, _ADJUSTMENTS))}, not {adjust_lr_fn!r}")
        options = dict(
            lr=lr,
            weight_decay=weight_decay,
            momentum=momentum,
            nesterov=nesterov,
            ns_coefficients=ns_coefficients,
            eps=eps,
            ns_steps=ns_steps,
            adjust_lr_fn=adjust_lr_fn,
        )
        super().__init__(params, options)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters, and one has sizes {tuple(param.shape)}: AdamW takes it"
                    )

    def _step_of(self, param, group):
        if param.is_complex():
            raise RuntimeError("Muon does not support complex parameters")
        if param.grad.is_sparse:
            raise RuntimeError("Muon does not support sparse gradients")
        state = self.state[param]
        if not state:
            self._begin(param, group, state)
        self._update(param, param.grad, group, state)

    def _begin(self, param, group, state):
        state["momentum_buffer"] = _C.zeros_like(param.grad)

    def _update(self, param, grad, group, state):
        lr, average = to_scalar(group["lr"]), state["momentum_buffer"]
        average.lerp_(grad, 1 - group["momentum"])
        update = grad.lerp(average, group["momentum"]) if group["nesterov"] else average
        update = _orthogonal(update, group["ns_coefficients"], group["ns_steps"], group["eps"])
        param.mul_(1 - lr * group["weight_decay"])
        add_scaled(param, update.to(param.dtype), -(lr * _scale(group["adjust_lr_fn"], *param.shape)))


def _scale(adjustment, rows, columns):
    if adjustment == "match_rms_adamw":
        return 0.2 * math.sqrt(max(rows, columns))
    return math.sqrt(max(1, rows / columns))


def _orthogonal(matrix, coefficients, steps, eps):
    """U V^T of the singular value decomposition, roughly."""
    if steps >= 100:
        raise ValueError(f"ns_steps has to be less than 100, and is {steps}")
    if len(coefficients) != 3:
        raise ValueError(f"ns_coefficients are three numbers, not {coefficients}")
    a, b, c = coefficients
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.to(_C.bfloat16, copy=True)
    x = x.T if tall else x
    x.div_(x.norm().clamp(min=eps))
    for _ in range(steps):
        gram = x @ x.T
        x = _C.addmm(x, _C.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x


__getattr__ = _absent_names(__name__)
