"""torch.optim.adagrad: gradients divided by the root of the sum of their squares."""

from .. import _C
from .._absent import absent_names as _absent_names
from .optimizer import _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import add_quotient, decayed, number_of, to_scalar

__all__ = ["Adagrad"]


class Adagrad(_PerParameter):
    """Adagrad (Duchi et al., "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", 2011).

    s is the sum of all g^2, from `initial_accumulator_value` on: p -= lr / (1 + (t - 1) * lr_decay) * g /
    (sqrt(s) + eps). `weight_decay` adds weight_decay * p to g.

    Raises ValueError for negative options.
    """

    _added_options = {"maximize": False, "fused": None}
    _takes_sparse = True

    _listed = ("sum", "step")

    def __init__(
        self,
        params,
        lr=1e-2,
        lr_decay=0,
        weight_decay=0,
        initial_accumulator_value=0,
        eps=1e-10,
        foreach=None,
        *,
        maximize=False,
        differentiable=False,
        fused=None,
    ):
        _check_lr(lr)
        _check_not_negative(lr_decay=lr_decay, weight_decay=weight_decay)
        _check_not_negative(initial_accumulator_value=initial_accumulator_value, eps=eps)
        options = dict(
            lr=lr,
            lr_decay=lr_decay,
            eps=eps,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            foreach=foreach,
            maximize=maximize,
            differentiable=differentiable,
            fused=fused,
        )
        super().__init__(params, options)
        for group in self.param_groups:
            for param in group["params"]:
                self._begin(param, group, self.state[param])

    def _init_group(self, group, params, grads, state_sums, state_steps):
        """As of any optimizer, but gives two answers: a gradient is sparse, a parameter is complex."""
        complex_ones = super()._init_group(group, params, grads, state_sums, state_steps)
        return any([grad.is_sparse for grad in grads]), complex_ones

    def _begin(self, param, group, state):
        state["step"] = _number_state(0, group["fused"])
        state["sum"] = _C.full_like(param, self.defaults["initial_accumulator_value"])

    def _update(self, param, grad, group, state):
        if grad.is_sparse:
            if group["weight_decay"] != 0:
                raise RuntimeError("weight_decay does not go with sparse gradients")
            grad = grad.to_dense()
        grad = decayed(param, grad, group)
        rate = to_scalar(group["lr"]) / (1 + (number_of(state) - 1) * group["lr_decay"])
        state["sum"].addcmul_(grad, grad, value=1)
        add_quotient(param, grad, state["sum"].sqrt().add_(group["eps"]), -rate)


__getattr__ = _absent_names(__name__)
