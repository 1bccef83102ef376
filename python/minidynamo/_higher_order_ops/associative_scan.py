"""associative_scan: sums of prefixes, for any associative function, in as many steps as the length has digits."""

from .. import _C
from .._absent import absent_names as _absent_names
from ..utils import _pytree
from .compiled_calls import call as _call
from .map import each_row
from .scan import wrapped_dim


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """Slice k of the result is x0 combined with x1 ... xk: slices of `xs` along `dim`, from the last if `reverse`.

    combine_fn(a, b) takes two slices, tensors or containers of the structure of `xs`, and returns one of the same
    sizes; it has to be associative, since calls are grouped in pairs. `combine_mode="pointwise"` is for other devices
    than the CPU. combine_fn may not write to what it is given or captures, or return it.

    Raises ValueError for arguments that do not fit, IndexError for a dimension that is not there,
    UncapturedHigherOrderOpError where combine_fn breaks the rules.
    """
    leaves = _pytree.tree_leaves(xs)
    if not callable(combine_fn):
        raise ValueError(f"associative_scan(): combine_fn should be a function, not {combine_fn}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"associative_scan(): combine_mode should be 'pointwise' or 'generic', not {combine_mode}")
    for leaf in leaves:
        if not isinstance(leaf, _C.Tensor):
            raise ValueError(f"associative_scan(): xs may hold tensors only, not {leaf}")
    if combine_mode == "pointwise" and any(leaf.device.type == "cpu" for leaf in leaves):
        raise ValueError("associative_scan(): combine_mode='pointwise' is not for tensors of the CPU, 'generic' is")
    dim = wrapped_dim(dim, leaves[0].ndim)
    for leaf in leaves:
        if leaf.ndim <= dim or leaf.shape[dim] == 0:
            raise ValueError(f"associative_scan(): each of xs should have elements along dimension {dim}")
        if leaf.shape[dim] != leaves[0].shape[dim]:
            raise ValueError(f"associative_scan(): the sizes of xs along dimension {dim} differ")
    return _call(_scanned, _scanned, (combine_fn,), (combine_fn, xs, dim, reverse))


def _scanned(combine_fn, xs, dim, reverse):
    leaves, spec = _pytree.tree_flatten(xs)
    rows = [x.movedim(dim, 0) if dim else x for x in leaves]
    rows = [x.flip(0) for x in rows] if reverse else rows

    def combined(pair):
        a, b = pair
        made = combine_fn(_pytree.tree_unflatten(a, spec), _pytree.tree_unflatten(b, spec))
        made = _pytree.tree_leaves(made)
        if len(made) != len(leaves):
            raise ValueError(f"associative_scan(): combine_fn was given {len(leaves)} tensors and returns {len(made)}")
        return made

    made = _prefixes(combined, rows)
    made = [x.flip(0) for x in made] if reverse else made
    return _pytree.tree_unflatten([x.movedim(0, dim) if dim else x for x in made], spec)


def _prefixes(combined, rows):
    """Combinations of all prefixes: of pairs of neighbours first, which gives every other one."""
    length = rows[0].shape[0]
    if length < 2:
        return rows
    pairs = each_row(combined, ([x[:-1:2] for x in rows], [x[1::2] for x in rows]))
    odd = _prefixes(combined, pairs)
    if length == 2:
        return [_C.cat([x[:1], y]) for x, y in zip(rows, odd)]
    before = [x[:-1] for x in odd] if length % 2 == 0 else odd
    even = each_row(combined, (before, [x[2::2] for x in rows]))
    return [_interleaved(_C.cat([x[:1], e]), o) for x, e, o in zip(rows, even, odd)]


def _interleaved(even, odd):
    """Rows of two tensors by turns; the first may have one more."""
    count = odd.shape[0]
    both = _C.stack([even[:count], odd], 1).flatten(0, 1)
    return _C.cat([both, even[count:]]) if even.shape[0] > count else both


__getattr__ = _absent_names(__name__)
