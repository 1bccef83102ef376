"""The way back through calls, as handlers see it: one formula for each tensor argument of an operator, in the operators
that torch's derivatives call.

A formula's parameters say what it reads: `grad` is the gradient of the (first) result, `grads` those of all, `call`
tells sizes and dtypes (`_Call`), `result`, `result0`, ... are results, other names arguments. Rows are named as the
operators are, or as this package's ops where those are recorded themselves.
"""

import functools
import inspect

from .. import _C
from . import derivatives, dispatch

_RESULTS = ("result", "result0", "result1", "result2", "result3")
_OURS = ("grad", "grads", "call", *_RESULTS)


class Unkept(Exception):
    """A formula reads what was not kept."""


class _Call:
    """What was called, and what it gave."""

    def __init__(self, given, results, grads, wanted):
        self.given, self.results, self.grads = given, results, grads
        self.wanted = wanted  # by argument; absent: it is no tensor that gradients go to

    def type_of(self, name):
        """A tensor of its sizes and dtype, which may have no elements."""
        value = self.results[0] if name == "result" else self.given[name]
        return value[0] if isinstance(value, tuple) and len(value) == 1 else value

    def shape(self, name):
        return list(self.type_of(name).shape)

    def rank(self, name):
        return self.type_of(name).dim()

    def mask(self, *names):
        return [bool(self.wanted.get(name)) for name in names]

    def has(self, name):
        if name in _RESULTS:
            return int(name[6:] or 0) < len(self.results)
        return name in _OURS or name in self.given

    def value(self, name):
        if name in ("grad", "grads", "call"):
            return {"grad": self.grads[0], "grads": self.grads, "call": self}[name]
        if name in _RESULTS:
            return _kept(self.results[int(name[6:] or 0)])
        return _kept(self.given[name])


def _kept(value):
    if isinstance(value, tuple) and len(value) == 1:
        raise Unkept
    if isinstance(value, list):
        return [_kept(item) for item in value]
    return value


@functools.cache
def _parameters(formula):
    return tuple(inspect.signature(formula).parameters)


# What no formula has to know: it says how the call is computed, or what the results show anyhow.
_BESIDE = set(
    """eps momentum cudnn_enable dtype layout device pin_memory memory_format sparse_grad generator compute_mode
    implicit stable largest sorted descending k value""".split()
)


def _is_told(name, value):
    return value is not None and value is not False and not isinstance(value, (_C.Tensor, list, tuple)) or name == "dim"


def knows(name, given):
    """Whether the formulas of an operator ask about all that a call of it was told."""
    found = _row(name)
    asked = {p for formula in found[0].values() for p in _parameters(formula)} if found else set()
    return all(n in asked or n in _BESIDE or not _is_told(n, v) for n, v in given.items())


@functools.cache
def _needed(formula):
    parameters = inspect.signature(formula).parameters.values()
    return tuple(p.name for p in parameters if p.default is p.empty)


@functools.cache
def _row(name):
    """({argument: formula}, the results that are shown once more as they were kept) of an operator or op."""
    from .gradient_formulas import FORMULAS
    from .layer_gradients import KEPT_APART, LAYER_FORMULAS
    from .placement_gradients import PLACEMENT_FORMULAS

    row = FORMULAS.get(name) or LAYER_FORMULAS.get(name) or PLACEMENT_FORMULAS.get(name)
    if row is None:
        return None
    names = dict.fromkeys(p for formula in row.values() for p in _parameters(formula))
    shown = [p for p in names if p in _RESULTS and p not in KEPT_APART.get(name, ())]
    return row, sorted(shown)


def row_name(func):
    """What the row of an operator is called: some overloads have one of their own."""
    name = f"{func._opname}.{func._schema.overload_name}"
    return name if _row(name) is not None else func._opname


def results_kept(name):
    """The numbers of the results that handlers see kept; None for an operator or op without formulas."""
    found = _row(name) or (_row(_own(name)[0]) if name in dispatch.own_ops() else None)
    return None if found is None else [int(p[6:] or 0) for p in found[1]]


def results_read(name):
    """The numbers of the results that an operator's formulas read."""
    found = _row(name)
    names = {p for formula in found[0].values() for p in _parameters(formula)} if found else ()
    return {int(p[6:] or 0) for p in names if p in _RESULTS}


def gradients_of(name, given, results, grads, wanted):
    """{argument: gradient} for the wanted arguments of a call; None if there is no row for it, or what its formulas
    read was not kept. Wanted is {argument: whether}."""
    found = _row(name)
    if found is None:
        return None
    row, shown = found
    if grads[0] is None and any("grad" in _parameters(formula) for formula in row.values()):
        return None
    call = _Call(given, list(results), grads, wanted)
    asked = [a for a in sorted(row) if a == "*" or wanted.get(a)]
    if any(w and a not in row and "*" not in row for a, w in wanted.items()):
        return None
    if not all(call.has(p) for a in asked for p in _needed(row[a])):  # another op of this name
        return None
    try:
        read = [{p: call.value(p) for p in _parameters(row[a]) if call.has(p)} for a in asked]
        for p in shown:
            if any(p in values for values in read):
                kept = _shown_again(call.value(p))
                for values in read:
                    if p in values:
                        values[p] = kept
    except Unkept:
        return None
    made = {}
    for argument, values in zip(asked, read):
        value = row[argument](**values)
        if value is NotImplemented:
            return None
        made.update(value if argument == "*" else {argument: value})
    asked = [a for a, is_wanted in wanted.items() if is_wanted]
    if not all(_fits(made.get(a), given[a]) for a in asked):  # the op's own rule says what is wrong
        return None
    return {a: _fitted(made.get(a), given[a]) for a in asked}


def _fits(grad, operand):
    if not isinstance(grad, _C.Tensor):
        return True
    sizes = (operand[0] if isinstance(operand, tuple) else operand).shape
    behind = grad.shape[grad.dim() - len(sizes) :]
    return grad.dim() >= len(sizes) and all(n in (1, m) for n, m in zip(sizes, behind))


def _shown_again(result):
    """A result as the call kept it: handlers see it taken out."""
    before = _C.is_grad_enabled()
    try:
        _C._set_grad_enabled(False)
        taken = derivatives.call("detach", result)
    finally:
        _C._set_grad_enabled(before)
    return result if before else taken


def _fitted(grad, operand):
    """The gradient in the sizes and the dtype of its operand, which may be a list of tensors."""
    if isinstance(operand, list):
        return [None if g is None else _fitted(g, o) for g, o in zip(grad, operand)] if grad is not None else None
    operand = operand[0] if isinstance(operand, tuple) else operand
    if grad is None or not isinstance(operand, _C.Tensor):
        return None
    if grad.shape != operand.shape:
        grad = _summed(grad, list(operand.shape))
    return grad if grad.dtype is operand.dtype else grad.to(operand.dtype)


def _summed(grad, sizes):
    if not sizes:
        return grad.sum()
    extra = grad.dim() - len(sizes)
    dims = list(range(extra))
    dims += [i + extra for i, n in enumerate(sizes) if n == 1 and grad.shape[i + extra] != 1]
    if dims:
        grad = grad.sum(dims, keepdim=True)
    return grad.view(sizes) if extra else grad


# --- Asked by the record of gradients ------------------------------------------------------------------------------


def _own(name):
    base, parameters = dispatch.own_ops()[name]
    return (name if _row(name) else base), parameters


def answer(name, args, results, grads, wanted):
    """The gradients of a call of an op of the table for each parameter; NotImplemented: its own rule is asked."""
    row, parameters = _own(name)
    given = dict(zip(parameters, args))
    given.setdefault("self", args[0])
    found = gradients_of(row, given, results, grads, dict(zip(parameters, wanted)))
    return NotImplemented if found is None else [found.get(p) for p in parameters]


@functools.cache
def reads(name, wanted):
    """(arguments, results) that the formulas of an op read for the gradients of the wanted arguments, a bit each."""
    row, parameters = _own(name)
    found = _row(row)
    asked = {"*", *(p for i, p in enumerate(parameters) if wanted >> i & 1)} | ({"self"} if wanted & 1 else set())
    names = {p for a, formula in found[0].items() if a in asked for p in _parameters(formula)} if found else set()
    arguments = sum(1 << i for i, p in enumerate(parameters) if p in names or (i == 0 and "self" in names))
    return arguments, sum(1 << int(p[6:] or 0) for p in names if p in _RESULTS)


def first_gradient(grad, leaf, ours):
    """What becomes the `grad` of a leaf that had none: the same memory, if nobody else has the gradient."""
    if ours and not _C.is_grad_enabled():
        return derivatives.call("detach", grad)
    like = {"dtype": grad.dtype, "layout": grad.layout, "device": grad.device}
    made = derivatives.call("new_empty_strided", grad, list(leaf.shape), _strides(leaf), **like)
    return made.copy_(grad)


def _strides(leaf):
    """Of the leaf; row-major where it has gaps or overlaps."""
    reach, packed = 1, True
    for stride, size in sorted((s, n) for s, n in zip(leaf.stride(), leaf.shape) if n != 1):
        packed, reach = packed and stride == reach, reach * size
    if packed:
        return list(leaf.stride())
    made, reach = [], 1
    for size in reversed(leaf.shape):
        made.append(reach)
        reach *= max(size, 1)
    return made[::-1]
