"""map: a function of each row of tensors."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..utils import _pytree
from .compiled_calls import call as _call


def map(f, xs, *args):
    """f(x, *args) for each slice x of `xs` along the first dimension, the results stacked.

    `xs` is a tensor or a container of them, all with the same first size, which is not 0. f returns a tensor or a
    container of them; it may not write to what it is given or captures, return it, or change Python objects from
    outside.

    In compiled code this is one node of the graph; outside, the call is compiled by itself. Raises RuntimeError for xs
    that do not fit, UncapturedHigherOrderOpError where f breaks the rules.
    """
    leaves = _pytree.tree_leaves(xs)
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(f"map(): xs may hold tensors only, not {leaf}")
    sizes = [leaf.shape[0] for leaf in leaves]
    for size in sizes:
        if size == 0:
            raise RuntimeError("map(): the first dimension of xs has size 0")
        if size != sizes[0]:
            raise RuntimeError(f"map(): the first dimensions of xs differ: {sizes}")
    return map_rows(f, xs, *args)


def map_rows(f, xs, *args):
    """map() of arguments that have been checked."""
    return _call(map_rows, _plain, (f,), (f, xs, *args))


def each_row(f, xs):
    """As map_rows(), where f may return what it is given."""
    return _call(each_row, _plain, (f,), (f, xs))


def _plain(f, xs, *args):
    rows = range(_pytree.tree_leaves(xs)[0].shape[0])
    made = [f(_pytree.tree_map(lambda x: x[k], xs), *args) for k in rows]  # noqa: B023
    return None if made[0] is None else _pytree.tree_map(lambda *each: _C.stack(each), *made)


__getattr__ = _absent_names(__name__)
