"""torch.optim.Adafactor: Adam's second moments of matrices from those of their rows and columns."""

from .. import _C
from .._absent import absent_names as _absent_names
from .._dynamo.eval_frame import is_compiling
from .._limits import finfo
from .optimizer import _check_lr, _check_not_negative, _number_state, _PerParameter
from .update_terms import add_scaled, number_of, to_scalar

__all__ = ["Adafactor"]


class Adafactor(_PerParameter):
    """Adafactor (Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", 2018).

    v, a running average of g^2 with the weight 1 - t^beta2_decay, is the product of averages over rows and columns of
    the last two dimensions (of vectors it is itself); u = g / sqrt(max(v, eps[0]^2)) is made shorter until the root
    of its mean square is at most `d`. With eps[0] None that is the epsilon of the dtype. The step is
    min(lr, 1 / sqrt(t)) times the root of the mean square of p, or eps[1] if that is larger. `weight_decay` shrinks p
    by lr * weight_decay * p.

    Raises ValueError for negative options, a positive beta2_decay and d below 1.
    """

    _common_options = {"foreach": None}
    _added_options = {"maximize": False}
    _listed = ("row_var", "col_var", "variance", "step")

    def __init__(
        self,
        params,
        lr=1e-2,
        beta2_decay=-0.8,
        eps=(None, 1e-3),
        d=1.0,
        weight_decay=0.0,
        *,
        foreach=None,
        maximize=False,
    ):
        _check_lr(lr)
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay must not be positive: {beta2_decay}")
        _check_not_negative(**{"eps[0]": eps[0] or 0.0, "eps[1]": eps[1]})
        if not d >= 1.0:
            raise ValueError(f"d has to be at least 1: {d}")
        _check_not_negative(weight_decay=weight_decay)
        options = dict(
            lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach, maximize=maximize
        )
        super().__init__(params, options)

    def _step_of(self, param, group):
        if param.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        if param.grad.is_sparse:
            raise RuntimeError("Adafactor does not support sparse gradients")
        super()._step_of(param, group)

    def _begin(self, param, group, state):
        state["step"] = _number_state(0)
        sizes = list(param.grad.shape)
        if len(sizes) > 1:
            state["row_var"] = param.grad.new_zeros([*sizes[:-1], 1])
            state["col_var"] = param.grad.new_zeros([*sizes[:-2], 1, sizes[-1]])
        else:
            state["variance"] = _C.zeros_like(param.grad)

    def _update(self, param, grad, group, state):
        steps, lr = number_of(state), to_scalar(group["lr"])
        least, least_scale = group["eps"]
        least = finfo(param.dtype).eps if least is None else least
        weight = steps ** group["beta2_decay"]
        rate = _larger(least_scale, _root_of_mean_square(param)) * _smaller(lr, steps**-0.5)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        update = _second_moments(grad, state, weight, least).clamp_(min=least * least).rsqrt_().mul_(grad)
        add_scaled(param, update, -rate / _larger(1.0, _root_of_mean_square(update) / group["d"]))


def _second_moments(grad, state, weight, least):
    if grad.dim() < 2:
        return _toward(state["variance"], grad * grad, weight).clone()
    rows, columns = state["row_var"], state["col_var"]
    _toward(rows, grad.norm(dim=-1, keepdim=True).square_().div_(grad.shape[-1]), weight)
    _toward(columns, grad.norm(dim=-2, keepdim=True).square_().div_(grad.shape[-2]), weight)
    return (rows @ columns).div_(rows.mean(dim=-2, keepdim=True).clamp_(min=least))


def _toward(average, value, weight):
    return average.lerp_(value, weight.to(average.dtype) if isinstance(weight, _C.Tensor) else weight)


def _root_of_mean_square(x):
    """A number; in compiled code a tensor of one."""
    norm = x.norm(2)
    return (norm.double() if is_compiling() else norm.item()) / x.numel() ** 0.5


def _larger(least, value):
    return value.clamp(min=least) if isinstance(value, _C.Tensor) else max(least, value)


def _smaller(most, value):
    if isinstance(most, _C.Tensor) or isinstance(value, _C.Tensor):
        pair = [x if isinstance(x, _C.Tensor) else _C.tensor(x, dtype=_C.float64) for x in (most, value)]
        return _C.minimum(*pair)
    return min(most, value)


__getattr__ = _absent_names(__name__)
