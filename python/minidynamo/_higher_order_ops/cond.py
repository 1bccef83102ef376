"""cond: a choice between two functions that stays a choice in the graph."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..utils import _pytree
from .compiled_calls import call as _call


def cond(pred, true_fn, false_fn, operands=()):
    """true_fn(*operands) if `pred` holds, else false_fn(*operands).

    `pred` is a tensor of one element or a Python bool. Both functions take the operands, a list or tuple of tensors or
    of containers of them, and return tensors and ints, or containers of them, of the same structure, dtypes and ranks.
    They may not write to operands or captured tensors, return them, or change Python objects from outside.

    In compiled code both become graphs of one node; the predicate chooses at run time. Outside, the call is compiled by
    itself, so that the same rules hold. Raises RuntimeError for arguments that do not fit, UncapturedHigherOrderOpError
    where the rules are broken, TorchRuntimeError where the branches give different dtypes or ranks.
    """
    if isinstance(pred, _C.Tensor) and _C._transforms() and _C._batch_levels(pred):
        return for_each_example(pred, true_fn, false_fn, operands)
    _check(pred, true_fn, false_fn, operands)
    return _call(cond, _plain, (true_fn, false_fn), (pred, true_fn, false_fn, operands))


def for_each_example(pred, true_fn, false_fn, operands):
    """Inside vmap, with a predicate that differs from example to example: both are computed, and chosen between."""
    yes, no = true_fn(*operands), false_fn(*operands)
    found, nesting = _pytree.tree_flatten(yes)
    others, other_nesting = _pytree.tree_flatten(no)
    if len(found) != len(others) or nesting != other_nesting:
        raise RuntimeError("cond(): the branches have to give the same structure of tensors")
    chosen = [_C.where(pred, a, b) if isinstance(a, _C.Tensor) else a for a, b in zip(found, others)]
    return _pytree.tree_unflatten(chosen, nesting)


def _plain(pred, true_fn, false_fn, operands):
    return (true_fn if pred else false_fn)(*operands)


def _check(pred, true_fn, false_fn, operands):
    if isinstance(pred, _C.Tensor):
        bool(pred)  # which one of several elements, or of none, nobody can say
    elif not isinstance(pred, (bool, int, float)):
        raise RuntimeError(f"cond(): pred should be a bool or a tensor of one element, not {pred}")
    if not callable(true_fn) or not callable(false_fn):
        raise RuntimeError("cond(): true_fn and false_fn should be functions")
    leaves = _pytree.tree_leaves(operands)
    if not isinstance(operands, (tuple, list)) or not all(isinstance(x, _C.Tensor) for x in leaves):
        raise RuntimeError(f"cond(): operands should be a tuple of tensors, or of containers of them, not {operands}")


__getattr__ = _absent_names(__name__)
