"""Operators that are one call for handlers, above the record of gradients: what goes back through them."""

import functools
import threading
from importlib import import_module

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


def _formulas():
    """gradients.py, whose formulas call operators by this module."""
    return import_module(".gradients", __package__)


def _is_differentiable(tensor):
    return tensor.is_floating_point() or tensor.is_complex()


class _Recorded(Function):
    """One call of an operator, whose tensors are given apart."""

    @staticmethod
    def forward(ctx, func, args, kwargs, *tensors):
        made = ask(func, tuple(_filled(args, iter(tensors))), kwargs)
        results = [made] if isinstance(made, _C.Tensor) else list(made)
        ctx.call = func, args, kwargs
        ctx.needed = ()  # which gradients a pass asks for, where it does not go on with all
        ctx.set_materialize_grads(False)
        read = _formulas().results_read(_formulas().row_name(func))
        ctx.save_for_backward(*tensors, *(r if i in read else None for i, r in enumerate(results)))
        ctx.mark_non_differentiable(*(r for r in results if r is not None and not _is_differentiable(r)))
        return made if isinstance(made, _C.Tensor) else tuple(results)

    @staticmethod
    def backward(ctx, *grads):
        saved, wanted = ctx.saved_tensors, (ctx.needed or ctx.needs_input_grad)[3:]
        ctx.needed = ()
        tensors, results = saved[: len(wanted)], saved[len(wanted) :]
        found = _by_formulas(*ctx.call, tensors, wanted, results, grads)
        if found is None:
            found = _by_parts(*ctx.call, tensors, wanted, grads)
        return None, None, None, *found


_names = set()  # of the nodes of such functions


@functools.cache
def _function_of(opname):
    """The function of an operator, named as its nodes are to be."""
    name = "".join(part.capitalize() for part in opname.split("_"))
    _names.add(f"{name}Backward")
    return type(name, (_Recorded,), {})


def _by_formulas(func, args, kwargs, tensors, wanted, results, grads):
    """By the formulas of the operator; None if it has none."""
    marks, names = iter(wanted), {}
    values = _filled(args, iter(tensors))
    given = {a.name: a.default_value for a in func._schema.arguments if a.has_default_value()}
    told = {}
    for argument, value in zip(func._schema.arguments, values):
        told[argument.name] = value
        count = len(list(_tensors([value])))
        names[argument.name] = [next(marks) for _ in range(count)]
    told |= kwargs
    given |= told
    formulas = _formulas()
    row = formulas.row_name(func)
    if not formulas.knows(row, told):
        return None
    found = formulas.gradients_of(row, given, results, grads, {name: any(m) for name, m in names.items() if m})
    if found is None:
        return None
    flat = []
    for name, each in names.items():
        of = found.get(name)
        of = of if isinstance(of, (list, tuple)) else [of] * len(each)
        flat += [g if is_wanted else None for g, is_wanted in zip(of, each)]
    return flat


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
        pairs = [(r, g) for r, g in zip(results, grads) if g is not None and r is not None and r.requires_grad]
        from ..autograd import grad

        found = grad(
            [r for r, _ in pairs], watched, [g for _, g in pairs], create_graph=again, allow_unused=True
        )  # fmt: skip
    finally:
        _here.opening -= 1
        _C._set_grad_enabled(again)
    if func._opname.endswith("_backward"):  # depends on what it read, if only by 0
        found = [_C.zeros_like(t) if g is None else g for t, g in zip(watched, found)]
    left = iter(found)
    return [next(left) if is_wanted else None for is_wanted in wanted]


def call(base, *args, overload="default", **kwargs):
    """What handlers say to a call of torch's operator, recorded where gradients are."""
    return recorded(_ops.aten_overload(base, overload), args, kwargs)


def _in_parts(func, args, kwargs):
    from .implementations import implementation, without_places

    _here.opening += 1
    try:
        return implementation(func._opname)(*args, **without_places(kwargs))
    finally:
        _here.opening -= 1


def recorded(func, args, kwargs):
    """The same for an overload."""
    args = shown_without_defaults(func._schema, args)
    tensors = list(_tensors(args))
    before = _C.is_grad_enabled()
    makes = func._opname.startswith("new_") or func._opname.endswith("_like")  # a tensor without a past
    if before and not makes and any(t.requires_grad for t in tensors):
        if _C._transforms():  # which differentiate its parts
            return _in_parts(func, args, kwargs)
        made = _function_of(func._opname).apply(func, args, kwargs, *tensors)
        show_kept(_formulas().row_name(func), [made] if isinstance(made, _C.Tensor) else made)
        return made
    try:
        _C._set_grad_enabled(False)
        return ask(func, args, kwargs)
    finally:
        _C._set_grad_enabled(before)


def show_kept(name, results):
    """What a derivative reads of results is kept as tensors of its own, which handlers see."""
    numbers = _formulas().results_kept(name)
    if numbers is None:
        numbers = range(len(results)) if name in READS_RESULT or f"{name}.default" in READS_RESULT else ()
    for number in numbers:
        result = results[number] if number < len(results) else None
        if isinstance(result, _C.Tensor) and _is_differentiable(result) and not _is_shown(result):
            ask(_ops.aten_overload("detach", "default"), (result,), {})


def _is_shown(result):
    """Whether the record itself has asked the handler of the tensor for what it keeps."""
    return _C._is_handled(result) and type(result.grad_fn).__name__ not in _names


# Operators whose derivative reads what they gave: torch keeps that as a tensor of its own, which handlers see.
READS_RESULT = set(
    """
    _cdist_forward _softmax _log_softmax _pdist_forward amax amin aminmax copysign cumprod dist exp exp2 expm1 hypot
    linalg_vector_norm logcumsumexp logsumexp max.default min.default median.default nanmedian.default polar
    pow.Tensor_Tensor pow.Scalar prod reciprocal relu rsqrt scatter_reduce sgn sigmoid sqrt std std_mean tan tanh
    linalg_cholesky_ex linalg_inv_ex cholesky_solve linalg_qr _linalg_eigh _linalg_svd _linalg_det
    """.split()
)
