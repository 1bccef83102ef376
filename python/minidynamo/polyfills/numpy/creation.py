"""New arrays. The default dtype is float64."""

import minidynamo as torch

from ..bridge import array_of, is_array, is_number, is_scalar, kind_of, tensor_of
from . import facts, layout
from .layout import like_operands
from .operands import as_array, cast, check_number, is_true, result, tensor, viewable


def _order(order):
    if order not in ("K", "C", None):
        raise NotImplementedError("memory in Fortran's order, or in one that depends on the operand")


def _shape(shape):
    if isinstance(shape, (list, tuple)):
        return tuple(shape)
    if not is_number(shape) or isinstance(shape, float):
        raise NotImplementedError("a shape that is no int or sequence of them")
    return (shape,)


def filled(value, shape, dtype=None, order="C", *, device=None, like=None):
    """numpy.zeros (value 0), numpy.ones (1) and numpy.empty (None)."""
    _order(order)
    if like is not None:
        raise NotImplementedError("`like`")
    wanted = torch.float64 if dtype is None else facts.tensor_dtype(dtype)
    if value is None:
        return array_of(torch.empty(_shape(shape), dtype=wanted))
    return array_of(torch.full(_shape(shape), value, dtype=wanted))


def full(shape, fill_value, dtype=None, order="C", *, device=None, like=None):
    """numpy.full."""
    _order(order)
    if like is not None:
        raise NotImplementedError("`like`")
    wanted = facts.tensor_dtype(dtype)
    if is_number(fill_value):
        if wanted is None:
            wanted = facts.dtype_of_number(kind_of(fill_value))
        check_number(fill_value, wanted)
        return array_of(torch.full(_shape(shape), fill_value, dtype=wanted))
    value = cast(tensor(fill_value), wanted)
    return array_of(layout.copied(torch.broadcast_to(value, _shape(shape)), "C"))


def _like(original, shape, order, make):
    """A tensor that `make(sizes)` gives, its axes in memory in the order of those of `original`, if `order` says so."""
    if order not in ("K", "C", None):
        raise NotImplementedError("an order that depends on the operand")
    size = tuple(original.shape) if shape is None else _shape(shape)
    if order == "C" or len(size) != original.dim():
        return make(size)
    return like_operands([original], lambda axes: make(size if axes is None else [size[d] for d in axes]))


def filled_like(value, a, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """numpy.zeros_like (0), numpy.ones_like (1) and numpy.empty_like (None)."""
    original = tensor(a)
    wanted = original.dtype if dtype is None else facts.tensor_dtype(dtype)
    if value is None:
        return array_of(_like(original, shape, order, lambda size: torch.empty(size, dtype=wanted)))
    return array_of(_like(original, shape, order, lambda size: torch.full(size, value, dtype=wanted)))


def full_like(a, fill_value, dtype=None, order="K", subok=True, shape=None, *, device=None):
    """numpy.full_like."""
    original = tensor(a)
    wanted = original.dtype if dtype is None else facts.tensor_dtype(dtype)
    if is_number(fill_value):
        check_number(fill_value, wanted)
        return array_of(_like(original, shape, order, lambda size: torch.full(size, fill_value, dtype=wanted)))
    made = _like(original, shape, order, lambda size: torch.empty(size, dtype=wanted))
    made.copy_(cast(tensor(fill_value), wanted))  # broadcast to the sizes, whatever their order in memory
    return array_of(made)


def arange(start, stop=None, step=1, dtype=None, *, device=None, like=None):
    """numpy.arange."""
    if stop is None:
        start, stop = 0, start
    if like is not None or not (is_number(start) and is_number(stop) and is_number(step)):
        raise NotImplementedError("bounds that are no Python numbers")
    wanted = facts.tensor_dtype(dtype)
    if wanted is None:
        wanted = facts.common_dtype((kind_of(start), kind_of(stop), kind_of(step)))
        if wanted == torch.bool:
            raise NotImplementedError("a range of bools")
    elif facts.integer_range(wanted) is not None and (
        isinstance(start, float) or isinstance(stop, float) or isinstance(step, float)
    ):
        raise NotImplementedError("a range of integers with float bounds")
    return array_of(torch.arange(start, stop, step, dtype=wanted))


def linspace(start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None):
    """numpy.linspace between Python numbers."""
    if retstep is not False or axis != 0 or not (is_number(start) and is_number(stop) and is_number(num)):
        raise NotImplementedError("a linspace of this form")
    wanted = torch.float64 if dtype is None else facts.tensor_dtype(dtype)
    if not wanted.is_floating_point:
        raise NotImplementedError("a linspace of integers")
    if is_true(endpoint):
        return array_of(cast(torch.linspace(start, stop, num, dtype=torch.float64), wanted))
    steps = torch.arange(0, num, dtype=torch.float64) * ((stop - start) / num) + start
    return array_of(cast(steps, wanted))


def eye(N, M=None, k=0, dtype=float, order="C", *, device=None, like=None):  # noqa: N803  NumPy's names
    """numpy.eye."""
    _order(order)
    columns = N if M is None else M
    rows = torch.arange(0, N, dtype=torch.int64).reshape((N, 1))
    return array_of((torch.arange(0, columns, dtype=torch.int64) - rows == k).to(facts.tensor_dtype(dtype)))


def identity(n, dtype=None, *, like=None):
    """numpy.identity."""
    return eye(n, n, 0, float if dtype is None else dtype)


def array(object, dtype=None, *, copy=True, order="K", subok=False, ndmin=0, like=None):  # noqa: A002
    """numpy.array: a copy, unless told otherwise."""
    _order(order)
    if like is not None:
        raise NotImplementedError("`like`")
    wanted = facts.tensor_dtype(dtype)
    made = tensor_of(as_array(object, wanted))
    if is_array(object) and (copy is True or not _is_fit(made, wanted, order)):
        if copy is False:
            raise ValueError("a copy cannot be avoided")
        made = layout.copied(made, order, wanted)
    elif is_array(object):
        return object if ndmin <= made.dim() else array_of(with_dims(made, ndmin))
    elif copy is False:
        raise ValueError("a copy cannot be avoided")
    return array_of(with_dims(cast(made, wanted), ndmin))


def _is_fit(value, dtype, order):
    """Whether memory has what was asked for: any order of axes fits "K"."""
    return (dtype is None or value.dtype == dtype) and (order != "C" or value.is_contiguous())


def with_dims(value, least):
    while value.dim() < least:
        value = value.unsqueeze(0)
    return value


def asarray(a, dtype=None, order=None, *, device=None, copy=None, like=None):
    """numpy.asarray: the array itself where nothing has to change."""
    _order(order)
    if like is not None:
        raise NotImplementedError("`like`")
    wanted = facts.tensor_dtype(dtype)
    if copy is not None:
        return array(a, wanted, copy=copy, order=order)
    if is_array(a) and not is_scalar(a):
        value = tensor_of(a)
        return a if _is_fit(value, wanted, order) else array_of(layout.copied(value, order, wanted))
    return array_of(cast(viewable(a, wanted), wanted))


def ascontiguousarray(a, dtype=None, *, like=None):
    """numpy.ascontiguousarray, which has one dimension at least."""
    made = asarray(a, dtype, "C")
    value = tensor_of(made)
    return made if value.dim() > 0 else array_of(with_dims(value, 1))


def copied(a, order="K", subok=False):
    """numpy.copy."""
    return array_of(layout.copied(tensor(a), order))


def scalar_type(dtype, value=0):
    """numpy.float32(value) and the like."""
    made = tensor(value)
    wanted = facts.tensor_dtype(dtype)
    return result(made.clone() if made.dtype == wanted else made.to(wanted))


def tri(N, M=None, k=0, dtype=float, *, like=None):  # noqa: N803
    """numpy.tri."""
    columns = N if M is None else M
    rows = torch.arange(0, N, dtype=torch.int64).reshape((N, 1))
    return array_of((torch.arange(0, columns, dtype=torch.int64) - rows <= k).to(facts.tensor_dtype(dtype)))
