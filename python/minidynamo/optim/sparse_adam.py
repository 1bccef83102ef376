"""torch.optim.sparse_adam: Adam that moves only the rows a sparse gradient has entries for."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..autograd.grad_mode import enable_grad, no_grad
from .optimizer import Optimizer, _check_lr, _check_not_negative

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients: averages and parameters change in the places where a gradient has entries.

    Raises ValueError for options out of range and for sparse parameters, RuntimeError for dense gradients.
    """

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, maximize=False):
        _check_lr(lr)
        _check_not_negative(eps=eps)
        for i, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, maximize=maximize))
        if any(param.is_sparse for group in self.param_groups for param in group["params"]):
            raise ValueError("SparseAdam is for dense parameters with sparse gradients")

    @no_grad()
    def step(self, closure=None):
        """One update of all parameters that have a gradient; gives what `closure` gives, which runs before it."""
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        for group in self.param_groups:
            for param in group["params"]:
                if param.grad is not None:
                    self._step_of(param, group)
        return loss

    def _step_of(self, param, group):
        if not param.grad.is_sparse:
            raise RuntimeError("SparseAdam does not take dense gradients; Adam does")
        state = self.state[param]
        if not state:
            state["step"] = 0
            state["exp_avg"], state["exp_avg_sq"] = _C.zeros_like(param), _C.zeros_like(param)
        state["step"] += 1
        grad = param.grad.coalesce()
        places, values = tuple(grad.indices()), -grad.values() if group["maximize"] else grad.values()
        if values.numel() == 0:
            return
        beta1, beta2 = group["betas"]
        first, second = state["exp_avg"][places], state["exp_avg_sq"][places]
        first = first + (values - first) * (1 - beta1)
        second = second + (values**2 - second) * (1 - beta2)
        state["exp_avg"][places], state["exp_avg_sq"][places] = first, second
        count = state["step"]
        rate = group["lr"] * (1 - beta2**count) ** 0.5 / (1 - beta1**count)
        param[places] = param[places] - rate * first / (second.sqrt() + group["eps"])


__getattr__ = _absent_names(__name__)
