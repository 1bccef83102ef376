"""torch.optim.sgd: gradient descent, with momentum."""

from .._absent import absent_names as _absent_names
from .optimizer import _check_lr, _check_not_negative, _PerParameter
from .update_terms import add_scaled, decayed, to_scalar

__all__ = ["SGD"]


class SGD(_PerParameter):
    """Stochastic gradient descent: p -= lr * g, with momentum p -= lr * b where b = momentum * b + (1 - dampening) * g.

    The first b is g. `nesterov` uses g + momentum * b instead of b (Sutskever et al., "On the importance of
    initialization and momentum in deep learning", 2013). `weight_decay` adds weight_decay * p to g.

    Raises ValueError for negative options, and for `nesterov` without momentum or with dampening.
    """

    _added_options = {"nesterov": False, "maximize": False, "fused": False}

    def __init__(
        self,
        params,
        lr=1e-3,
        momentum=0,
        dampening=0,
        weight_decay=0,
        nesterov=False,
        *,
        maximize=False,
        foreach=None,
        differentiable=False,
        fused=None,
    ):
        _check_lr(lr)
        _check_not_negative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("nesterov=True needs momentum, and no dampening")
        options = dict(
            lr=lr,
            momentum=momentum,
            dampening=dampening,
            weight_decay=weight_decay,
            nesterov=nesterov,
            maximize=maximize,
            foreach=foreach,
            differentiable=differentiable,
            fused=fused,
        )
        super().__init__(params, options)

    def _init_group(self, group, params, grads, momentum_buffer_list):
        """Fills lists with the parameters that have gradients, the gradients and, with momentum, buffers or None.

        True: one of the gradients is sparse.
        """
        sparse = False
        for param in group["params"]:
            if param.grad is not None:
                params.append(param)
                grads.append(param.grad)
                sparse |= param.grad.is_sparse
                if group["momentum"] != 0:
                    momentum_buffer_list.append(self.state[param].get("momentum_buffer"))
        return sparse

    def _step_of(self, param, group):
        grad = decayed(param, -param.grad if group["maximize"] else param.grad, group)
        momentum = group["momentum"]
        if momentum != 0:
            state = self.state[param]
            buffer = state.get("momentum_buffer")
            if buffer is None:
                buffer = state["momentum_buffer"] = grad.detach().clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        add_scaled(param, grad, -to_scalar(group["lr"]))


__getattr__ = _absent_names(__name__)
