"""Containers of tensors as transforms take and return them."""

import functools
import types

from .. import _C
from .._dynamo.eval_frame import is_compiling as _is_compiling
from ..utils import _pytree as pytree


def name_of(func):
    """What a message calls a function."""
    return getattr(func, "__name__", None) or repr(func)


def named_after(func):
    """Decorator: the name and the documentation of `func`, where it is a function."""

    def decorate(wrapper):
        if not _is_compiling() or (isinstance(func, types.FunctionType) and not hasattr(func, "__wrapped__")):
            return functools.wraps(func)(wrapper)
        return wrapper

    return decorate


def alike(a, b):
    """Whether two nestings are the same."""
    if a.type is not b.type or a.context != b.context or len(a.children_specs) != len(b.children_specs):
        return False
    return all([alike(x, y) for x, y in zip(a.children_specs, b.children_specs)])


def flattened(tree):
    """(leaves, nesting) of any containers."""
    return pytree.tree_flatten(tree)


def rebuilt(leaves, nesting):
    """The containers with these leaves."""
    return pytree.tree_unflatten(leaves, nesting)


def spread(tree, nesting):
    """For each leaf of `nesting` what `tree` says of it; a leaf of `tree` speaks of all below. None: no fit."""
    leaves, own = flattened(tree)
    if own.is_leaf():
        return [tree] * nesting.num_leaves
    if nesting.is_leaf() or own.type is not nesting.type or own.context != nesting.context:
        return None
    parts = pytree.SUPPORTED_NODES[own.type].flatten_fn(tree)[0]
    if len(parts) != len(nesting.children_specs):
        return None
    found = []
    for part, below in zip(parts, nesting.children_specs):
        leaves = spread(part, below)
        if leaves is None:
            return None
        found += leaves
    return found


def map_tensors(f, tree):
    """`tree` with f(x) in the place of each tensor x."""
    leaves, nesting = flattened(tree)
    return rebuilt([f(x) if isinstance(x, _C.Tensor) else x for x in leaves], nesting)
