"""jacrev, jacfwd, hessian: all derivatives of a function's outputs, many products at once by vmap."""

import functools

from .. import _C
from .gradients import Linear, _is_index, _leaving, chosen, vjp_of
from .nesting import flattened, named_after, rebuilt
from .vmap import _RANDOMNESS, vmap


def _basis(tensors):
    """For each tensor its part of all unit vectors of all elements: of their number followed by its sizes."""
    total = sum(x.numel() for x in tensors)
    found, start = [], 0
    for x in tensors:
        part = _C.zeros((total, x.numel()), dtype=x.dtype, device=x.device)
        part.diagonal(-start).fill_(1)
        found.append(part.reshape(total, *x.shape))
        start += x.numel()
    return found


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None, _preallocate_and_copy=False):
    """A function that gives the Jacobian of `func`, worked out row by row, many rows at once.

    For each output, nested as they are, and for each argument that `argnums` names, nested as it is, a tensor of the
    output's sizes followed by the argument's. With `has_aux`, `func` returns (outputs, aux) and the result is
    (Jacobian, aux). At most `chunk_size` rows are worked out at a time. RuntimeError for outputs that are no tensors
    and `argnums` that do not fit; ValueError for a `chunk_size` below 1.
    """
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError("jacrev: chunk_size is a positive number")

    @named_after(func)
    def wrapper(*args, **kwargs):
        places = chosen(argnums, args)
        outputs, pull_back, aux = vjp_of(functools.partial(func, **kwargs) if kwargs else func, args, places, has_aux)
        leaves, nesting = flattened(outputs)

        def rows(*cotangents):
            return pull_back(rebuilt(list(cotangents), nesting))

        found, of_inputs = flattened(vmap(rows, chunk_size=chunk_size)(*_basis(leaves)))
        columns = [x.split([y.numel() for y in leaves]) for x in found]
        jacobians = []
        for i, y in enumerate(leaves):
            of_output = [column[i].reshape(*y.shape, *column[i].shape[1:]) for column in columns]
            of_output = rebuilt(of_output, of_inputs)
            jacobians.append(of_output[0] if _is_index(argnums) else tuple(of_output))
        result = rebuilt(jacobians, nesting)
        return (result, aux) if has_aux else result

    return wrapper


def _watched(randomness):
    """Calls a function as if it was in the vmap over all columns, for whose random numbers it asks."""

    def call(func, args):
        level = _C._begin_draws(_RANDOMNESS[randomness])
        try:
            return func(*args)
        finally:
            _C._end_transform(level)

    return call


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    """A function that gives the Jacobian of `func`, worked out column by column, all columns at once.

    Arguments and results as of jacrev(). Random numbers in `func` raise RuntimeError unless `randomness` is "same" or
    "different", which draws as "same" does: all columns are those of one call.
    """

    @named_after(func)
    def wrapper(*args, **kwargs):
        places = chosen(argnums, args)
        what = "jacfwd: jvp(f, primals, tangents)"
        called = functools.partial(func, **kwargs) if kwargs else func
        inputs = [args[i] for i in places]
        leaves, of_inputs = flattened(inputs)
        mode = "same" if randomness == "different" else randomness
        linear = Linear(what, called, args, places, has_aux, _watched(mode))
        columns = vmap(lambda *tangents: linear.along(tangents), randomness=mode, out_dims=-1)(*_basis(leaves))
        found, nesting = flattened(columns)
        sizes = [x.numel() for x in leaves]
        jacobians = []
        for whole in found:
            parts = whole.split(sizes, -1)
            of_output = [part.reshape(*whole.shape[:-1], *x.shape) for part, x in zip(parts, leaves)]
            of_output = rebuilt(of_output, of_inputs)
            jacobians.append(of_output[0] if _is_index(argnums) else tuple(of_output))
        result = rebuilt(jacobians, nesting)
        return (result, _leaving(linear.aux)) if has_aux else result

    return wrapper


def hessian(func, argnums=0):
    """A function that gives the second derivatives of `func`: jacfwd(jacrev(func))."""
    return jacfwd(jacrev(func, argnums), argnums)
