"""vmap: a function of one example applied to many at once."""

from .. import _C
from .nesting import flattened, name_of, named_after, rebuilt, spread

_RANDOMNESS = {"error": 0, "different": 1, "same": 2}


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """A function that applies `func` to every example of its arguments at once.

    `in_dims` says in which dimension of each argument the examples lie, None for arguments that all share: an int for
    all of them, or a tuple with one item for each, which may be nested as the argument is. Keyword arguments are
    shared. `out_dims` says the same of the results. Random numbers raise RuntimeError under `randomness="error"`, and
    are "different" for each example or the "same". At most `chunk_size` examples are worked on at a time.

    Raises ValueError for `in_dims` and `out_dims` that do not fit, examples of different numbers, arguments with a
    dimension that are no tensors, and results that are none; RuntimeError where `func` reads a value (item(), a branch)
    or writes in place to what is the same for all examples.
    """
    if randomness not in _RANDOMNESS:
        raise RuntimeError(f"vmap: randomness is 'error', 'different' or 'same', not {randomness!r}")
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size is None or a positive number, not {chunk_size}")

    @named_after(func)
    def batched(*args, **kwargs):
        size, dims, leaves, nesting = _examples(func, in_dims, args)
        if chunk_size is None or chunk_size >= size:
            return _apply(func, size, dims, leaves, nesting, out_dims, randomness, kwargs)
        return _in_chunks(func, size, dims, leaves, nesting, out_dims, randomness, kwargs, chunk_size)

    return batched


def _call_text(func, in_dims):
    return f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>)"


def _examples(func, in_dims, args):
    """How many examples there are, and for each leaf of the arguments the dimension they lie in."""
    if not isinstance(in_dims, (int, tuple)) or isinstance(in_dims, bool):
        raise ValueError(
            f"{_call_text(func, in_dims)}: in_dims has to be an int or a tuple nested as the arguments, not "
            f"{type(in_dims)}"
        )
    if not args:
        raise ValueError(f"vmap({name_of(func)})(<inputs>): there are no positional arguments to take examples from")
    leaves, nesting = flattened(args)
    dims = spread(in_dims, nesting)
    if dims is None:
        raise ValueError(f"{_call_text(func, in_dims)}: in_dims does not fit the nesting of the arguments, {nesting}")
    found = []
    for i, (x, dim) in enumerate(zip(leaves, dims)):
        if dim is not None:
            dims[i] = _checked_dim(func, in_dims, x, dim)
            found.append(x.shape[dims[i]])
    if not found:
        raise ValueError(f"{_call_text(func, in_dims)}: no argument has a dimension with examples")
    if any(size != found[0] for size in found):
        raise ValueError(f"vmap: the arguments have different numbers of examples: {found}")
    return found[0], dims, leaves, nesting


def _checked_dim(func, in_dims, x, dim):
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ValueError(f"{_call_text(func, in_dims)}: {dim!r} in in_dims is neither an int nor None")
    if not isinstance(x, _C.Tensor):
        raise ValueError(
            f"{_call_text(func, in_dims)}: in_dims says {dim} for {type(x)}: only tensors have examples: say None"
        )
    if dim < -x.dim() or dim >= x.dim():
        raise ValueError(
            f"{_call_text(func, in_dims)}: in_dims says dimension {dim} of a tensor that has {x.dim()} dimensions"
        )
    return dim % x.dim()


def _apply(func, size, dims, leaves, nesting, out_dims, randomness, kwargs):
    level = _C._begin_vmap(size, _RANDOMNESS[randomness])
    try:
        given = [x if dim is None else as_examples(x, dim, level) for x, dim in zip(leaves, dims)]
        results = func(*rebuilt(given, nesting), **kwargs)
        found, of = flattened(results)
        places = _out_dims(func, out_dims, results, of)
        return rebuilt([_result(func, x, dim, level) for x, dim in zip(found, places)], of)
    finally:
        _C._end_transform(level)


def as_examples(x, dim, level):
    """One example of `x`, whose dimension `dim` has them."""
    return _C._with_levels(x if dim == 0 else _C.movedim(x, dim, 0), (level,))


def all_examples(x, dim, level):
    """All examples of `x` in dimension `dim`. IndexError if there is no such dimension."""
    whole = _C._without_levels(x, (level,))
    return whole if dim == 0 else _C.movedim(whole, 0, dim)


def _result(func, x, dim, level):
    if dim is None:
        if isinstance(x, _C.Tensor) and level in _C._batch_levels(x):
            raise ValueError(
                f"vmap({name_of(func)}, ...): out_dims says None of a result that differs from example to example"
            )
        return x
    if not isinstance(x, _C.Tensor):
        raise ValueError(
            f"vmap({name_of(func)}, ...): {type(x)} is no tensor and has no examples: say None for it in out_dims"
        )
    return all_examples(x, dim, level)


def _out_dims(func, out_dims, results, nesting):
    flat = flattened(out_dims)[0]
    if any(dim is not None and (not isinstance(dim, int) or isinstance(dim, bool)) for dim in flat):
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims}): out_dims says by ints and None, nested as the results, "
            f"where the examples lie"
        )
    if nesting.is_leaf() and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return [out_dims[0]]
    found = spread(out_dims, nesting)
    if found is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims does not fit the nesting of the "
            f"results, {nesting}"
        )
    return found


def _in_chunks(func, size, dims, leaves, nesting, out_dims, randomness, kwargs, chunk_size):
    chunks, of = [], None
    for start in range(0, size, chunk_size):
        count = min(chunk_size, size - start)
        part = [x if dim is None else x.narrow(dim, start, count) for x, dim in zip(leaves, dims)]
        results = _apply(func, count, dims, part, nesting, out_dims, randomness, kwargs)
        found, of = flattened(results)
        chunks.append(found)
    places = _out_dims(func, out_dims, results, of)
    joined = [x[0] if dim is None else _C.cat(list(x), dim) for x, dim in zip(zip(*chunks), places)]
    return rebuilt(joined, of)
