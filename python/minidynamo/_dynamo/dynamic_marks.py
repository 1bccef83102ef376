"""Which sizes of a tensor a compiled function takes as symbols: marks on the tensor object, read when compiling."""

from .. import _C


def _indices(t, index):
    if isinstance(index, bool) or not isinstance(index, (int, list, tuple)):
        raise AssertionError(f"Expected index to be int, list, or tuple, got {type(index)}")
    dims = [index] if isinstance(index, int) else list(index)
    for dim in dims:
        if not isinstance(dim, int):
            raise AssertionError(f"Expected index to be int, got {type(dim)}")
        if not -t.ndim <= dim < t.ndim:  # a mark nothing would ever read
            raise IndexError(f"a tensor of {t.ndim} dimensions has no dimension {dim} to mark")
    return [dim % t.ndim for dim in dims]


def _mark(t, attribute, index):
    if not _C.is_tensor(t):
        raise AttributeError(f"{type(t).__name__!r} object has no attribute {attribute!r}")
    dims = _indices(t, index)
    if not dims:
        return
    marks = getattr(t, attribute, None)
    if marks is None:
        marks = set()
        setattr(t, attribute, marks)
    marks.update(dims)


def mark_dynamic(t, index, *, hint_override=None, min=None, max=None, specialize_on=None):
    """The size of dimension `index` (an int, or several, counted from the end if negative) is a symbol when `t` is
    next compiled. IndexError if `t` has no such dimension.

    `min`/`max` bound it: a size outside raises `ConstraintViolationError` when it is compiled. Sizes 0 and 1 stay
    constants. If the function fixes the size to one number, compiling raises `ConstraintViolationError`, too;
    `maybe_mark_dynamic` lets that pass.
    """
    _mark(t, "_dynamo_dynamic_indices", index)
    if min is not None or max is not None:
        ranges = getattr(t, "_dynamo_dynamic_range", None) or {}
        ranges.update(dict.fromkeys(_indices(t, index), (min, max)))
        t._dynamo_dynamic_range = ranges


def maybe_mark_dynamic(t, index):
    """Like `mark_dynamic`, without an error where the function fixes the size."""
    _mark(t, "_dynamo_weak_dynamic_indices", index)


def mark_unbacked(t, index, hint_override=None, strict=False, specialize_on=None, shape_id=None):
    """The size of dimension `index` is known only when the compiled function runs, 0 and 1 included: code that decides
    on it breaks the graph.

    IndexError if `t` has no such dimension.
    """
    _mark(t, "_dynamo_unbacked_indices", index)


def mark_static(t, index=None):
    """The sizes of dimensions `index` (all of them if None) are constants, also under `dynamic=True`.

    IndexError if `t` has no such dimension.
    """
    _mark(t, "_dynamo_static_indices", list(range(t.ndim)) if index is None else index)


def mark_static_address(t, guard=False):
    """Says that `t` stays where it is in memory. Kernels here take addresses at each call: nothing is faster for it.

    TypeError for what is no tensor.
    """
    if not _C.is_tensor(t):
        raise TypeError(f"mark_static_address expects a tensor, not {type(t)}")
    t._dynamo_static_input_type = "guarded" if guard else "unguarded"
