"""Operators that are one call for handlers, above the record of gradients: what goes back through them."""

import threading

from .. import _C, _ops
from ..autograd.function import Function
from . import modes
from .handlers import ask, shown_without_defaults


class _Here(threading.local):
    def __init__(self):
        self.opening = 0


_here = _Here()


def opens():
    """Whether an operator is being computed again for its gradients, part by part."""
    return _here.opening > 0


def _tensors(values):
    for value in values:
        if isinstance(value, _C.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _filled(values, tensors):
    """`values` with the tensors of an iterator in the places of those among them."""
    made = []
    for value in values:
        if isinstance(value, _C.Tensor):
            made.append(next(tensors))
        elif isinstance(value, (list, tuple)):
            made.append(_filled(value, tensors))
        else:
            made.append(value)
    return made


class _Recorded(Function):
    """One call of an operator, whose tensors are given apart."""

    @staticmethod
    def forward(ctx, func, args, kwargs, *tensors):
        made = ask(func, tuple(_filled(args, iter(tensors))), kwargs)
        results = [made] if isinstance(made, _C.Tensor) else list(made)
        ctx.call = func, args, kwargs
        ctx.save_for_backward(*tensors)
        ctx.mark_non_differentiable(*(r for r in results if not r.is_floating_point() and not r.is_complex()))
        return made if isinstance(made, _C.Tensor) else tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        return None, None, None, *_by_parts(*ctx.call, ctx.saved_tensors, ctx.needs_input_grad[3:], grads)


def _by_parts(func, args, kwargs, tensors, wanted, grads):
    """The operator is computed again, its parts are recorded."""
    from .implementations import implementation, without_places

    again = _C.is_grad_enabled()
    _here.opening += 1
    try:
        _C._set_grad_enabled(True)
        with modes.for_graphs_only():
            tensors = [
                t.view(t.shape) if is_wanted else t for t, is_wanted in zip(tensors, wanted)
            ]  # one may come twice
            watched = [t for t, is_wanted in zip(tensors, wanted) if is_wanted]
            made = implementation(func._opname)(*_filled(args, iter(tensors)), **without_places(kwargs))
        results = [made] if isinstance(made, _C.Tensor) else list(made)
        pairs = [(r, g) for r, g in zip(results, grads) if g is not None and r.requires_grad]
        from ..autograd import grad

        found = grad(
            [r for r, _ in pairs], watched, [g for _, g in pairs], create_graph=again, allow_unused=True
        )  # fmt: skip
    finally:
        _here.opening -= 1
        _C._set_grad_enabled(again)
    left = iter(found)
    return [next(left) if is_wanted else None for is_wanted in wanted]


def call(base, *args, overload="default", **kwargs):
    """What handlers say to a call of torch's operator, recorded where gradients are."""
    return recorded(_ops.aten_overload(base, overload), args, kwargs)


def recorded(func, args, kwargs):
    """The same for an overload."""
    args = shown_without_defaults(func._schema, args)
    tensors = list(_tensors(args))
    before = _C.is_grad_enabled()
    makes = func._opname.startswith("new_") or func._opname.endswith("_like")  # a tensor without a past
    if before and not makes and any(t.requires_grad for t in tensors):
        return _Recorded.apply(func, args, kwargs, *tensors)
    try:
        _C._set_grad_enabled(False)
        return ask(func, args, kwargs)
    finally:
        _C._set_grad_enabled(before)


# Operators whose derivative reads what they gave: torch keeps that as a tensor of its own, which handlers see.
READS_RESULT = set(
    """
    _cdist_forward _softmax _log_softmax _pdist_forward amax amin aminmax copysign cumprod dist exp exp2 expm1 hypot
    linalg_vector_norm logcumsumexp logsumexp max.default min.default median.default nanmedian.default polar
    pow.Tensor_Tensor pow.Scalar prod reciprocal relu rsqrt scatter_reduce sgn sigmoid sqrt std std_mean tan tanh
    linalg_cholesky_ex linalg_inv_ex cholesky_solve linalg_qr _linalg_eigh _linalg_svd _linalg_det
    """.split()
)
