"""scan: a loop over rows of tensors that carries a state."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..utils import _pytree
from .compiled_calls import call as _call


def scan(combine_fn, init, xs, *, dim=0, reverse=False):
    """(state, ys) after combine_fn(state, x) -> (state, y) for each slice x of `xs` along `dim`, from the last if
    `reverse`.

    `init`, the first state, and `xs` are tensors or containers of them; all of xs have the same size in `dim`, which
    is not 0. A step hands on a state of the same structure, dtypes and sizes. y is a tensor or a container of them, and
    ys has all of them stacked along `dim`. combine_fn may not write to what it is given or captures, return it, or
    change Python objects from outside.

    In compiled code the loop is one node of the graph; outside, the call is compiled by itself. Raises RuntimeError for
    arguments that do not fit, IndexError for a dimension that is not there, UncapturedHigherOrderOpError where
    combine_fn breaks the rules.
    """
    leaves_init, leaves_xs = _pytree.tree_leaves(init), _pytree.tree_leaves(xs)
    if not callable(combine_fn):
        raise RuntimeError(f"scan(): combine_fn should be a function, not {combine_fn}")
    if not isinstance(reverse, bool):
        raise RuntimeError(f"scan(): reverse should be a bool, not {type(reverse)}")
    if not leaves_init:
        raise RuntimeError("scan(): init has no tensors")
    for leaf in leaves_init:
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(f"scan(): init may hold tensors only, not {leaf}")
    if not leaves_xs:
        return init, []
    dim = wrapped_dim(dim, leaves_xs[0].ndim)
    for leaf in leaves_xs:
        if not isinstance(leaf, _C.Tensor):
            raise RuntimeError(f"scan(): xs may hold tensors only, not {leaf}")
        if leaf.ndim <= dim or leaf.shape[dim] == 0:
            raise RuntimeError(f"scan(): each of xs should have elements along dimension {dim}")

    def along_rows(x):
        x = x.movedim(dim, 0) if dim else x
        return x.flip(0) if reverse else x

    def along_dim(y):
        y = y.flip(0) if reverse else y
        return y.movedim(0, dim) if dim else y

    state, ys = scan_rows(combine_fn, init, _pytree.tree_map(along_rows, xs))
    return state, _pytree.tree_map(along_dim, ys) if dim or reverse else ys


def wrapped_dim(dim, ndim):
    """A dimension counted from the front. Raises IndexError if there is none such."""
    count = max(ndim, 1)
    if dim >= count or dim < -count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim + count if dim < 0 else dim


def scan_rows(combine_fn, init, xs):
    """scan() along the first dimension."""
    return _call(scan_rows, _plain, (combine_fn,), (combine_fn, init, xs))


def _plain(combine_fn, state, xs):
    made = []
    for k in range(_pytree.tree_leaves(xs)[0].shape[0]):
        state, y = combine_fn(state, _pytree.tree_map(lambda x: x[k], xs))  # noqa: B023
        made.append(y)
    return state, _pytree.tree_map(lambda *rows: _C.stack(rows), *made)


__getattr__ = _absent_names(__name__)
