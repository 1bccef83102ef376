"""torch.optim.adamw: Adam with a weight decay that its averages do not see."""

from .._absent import absent_names as _absent_names
from .adam import Adam

__all__ = ["AdamW"]


class AdamW(Adam):
    """AdamW (Loshchilov and Hutter, "Decoupled Weight Decay Regularization", 2017).

    Adam's update, before which p shrinks: p -= lr * weight_decay * p. Options and errors are those of Adam.
    """

    def __init__(
        self,
        params,
        lr=1e-3,
        betas=(0.9, 0.999),
        eps=1e-8,
        weight_decay=1e-2,
        amsgrad=False,
        *,
        maximize=False,
        foreach=None,
        capturable=False,
        differentiable=False,
        fused=None,
    ):
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state):
        super().__setstate__(state)
        for group in self.param_groups:  # whatever the loaded state says
            group["decoupled_weight_decay"] = True


__getattr__ = _absent_names(__name__)
