"""Shapes: views where NumPy gives views, copies where it copies."""

import minidynamo as torch

from ..bridge import array_of, is_array, is_number, read_only_array_of
from . import facts
from .layout import axes_iterated, copied, joined, laid, like_operands, strides_by_axis
from .operands import cast, store_whole, tensor, view, viewable
from .reductions import folded


def _c_order(order):
    if order != "C" and order is not None:
        raise NotImplementedError("an order other than C")


def sizes(shape):
    """A shape given as an int or a sequence."""
    if is_number(shape) and not isinstance(shape, float):
        return (shape,)
    if isinstance(shape, (list, tuple)):
        return tuple(shape)
    raise NotImplementedError("a shape that is no int or sequence of them")


def reshape(a, shape=None, order="C", *, copy=None):
    """numpy.reshape."""
    _c_order(order)
    if shape is None or copy is not None:
        raise NotImplementedError("a reshape of this form")
    return view(viewable(a).reshape(sizes(shape)), a)


def ravel(a, order="C"):
    """numpy.ravel: a view if the elements lie in order."""
    _c_order(order)
    value = viewable(a)
    return view(value.reshape((-1,)) if value.is_contiguous() else value.contiguous().reshape((-1,)), a)


def transpose(a, axes=None):
    """numpy.transpose."""
    value = viewable(a)
    rank = value.dim()
    order = tuple(range(rank - 1, -1, -1)) if axes is None else facts.axes_of(tuple(axes), rank)
    if len(order) != rank:
        raise ValueError("axes don't match array")
    return view(value.permute(order), a)


def matrix_transpose(x):
    """numpy.matrix_transpose."""
    return view(viewable(x).transpose(-2, -1), x)


def swapaxes(a, axis1, axis2):
    """numpy.swapaxes."""
    return view(viewable(a).transpose(axis1, axis2), a)


def moveaxis(a, source, destination):
    """numpy.moveaxis."""
    return view(torch.movedim(viewable(a), source, destination), a)


def expand_dims(a, axis):
    """numpy.expand_dims."""
    value = viewable(a)
    axes = tuple(axis) if isinstance(axis, (list, tuple)) else (axis,)
    for d in sorted(facts.axes_of(axes, value.dim() + len(axes))):
        value = value.unsqueeze(d)
    return view(value, a)


def squeeze(a, axis=None):
    """numpy.squeeze: named axes must have the size 1."""
    value = viewable(a)
    if axis is None:
        axis = tuple([d for d in range(value.dim()) if value.shape[d] == 1])
    if is_array(a) and axis == ():  # the array itself
        return a
    for d in sorted(facts.axes_of(axis, value.dim()), reverse=True):
        if value.shape[d] != 1:
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
        value = value.squeeze(d)
    return view(value, a)


def at_least(rank, *arrays):
    """numpy.atleast_1d and its like: new axes come first, but the third comes last."""
    made = []
    for a in arrays:
        value = viewable(a)
        if value.dim() == 0:
            value = value.reshape((1,))
        if rank >= 2 and value.dim() == 1:
            value = value.unsqueeze(0)
        if rank >= 3 and value.dim() == 2:
            value = value.unsqueeze(2)
        made.append(a if is_array(a) and value.dim() == tensor(a).dim() else view(value, a))
    return made[0] if len(made) == 1 else tuple(made)


# --- joining and splitting --------------------------------------------------------------------------------------------


def _parts(arrays, dtype):
    values = [tensor(a) for a in arrays]
    wanted = facts.tensor_dtype(dtype)
    if wanted is None:
        wanted = facts.common_dtype(tuple([v.dtype for v in values]))
    return [cast(v, wanted) for v in values]


def _sequence(arrays):
    if not isinstance(arrays, (list, tuple)):
        raise NotImplementedError("arrays that are no list or tuple")
    return arrays


def concatenate(arrays, axis=0, out=None, dtype=None, casting="same_kind"):
    """numpy.concatenate."""
    if casting != "same_kind":
        raise NotImplementedError("`casting`")
    values = _parts(_sequence(arrays), dtype)
    for v in values:
        if v.dim() == 0 and axis is not None:
            raise ValueError("zero-dimensional arrays cannot be concatenated")
    if axis is None:
        values = [v.reshape((-1,)) for v in values]
        axis = 0
    whole = _joined(values, axis)
    return array_of(whole) if out is None else store_whole(out, whole)


def _joined(values, axis):
    """torch.cat takes an empty tensor of one dimension beside any; NumPy does not."""
    for v in values:
        if v.dim() != values[0].dim():
            raise ValueError("all the input arrays must have same number of dimensions")
    return joined(values, axis)


def stack(arrays, axis=0, out=None, *, dtype=None, casting="same_kind"):
    """numpy.stack."""
    if casting != "same_kind":
        raise NotImplementedError("`casting`")
    values = _parts(_sequence(arrays), dtype)
    (d,) = facts.axes_of(axis, values[0].dim() + 1)
    for v in values:
        if v.shape != values[0].shape:
            raise ValueError("all input arrays must have the same shape")
    whole = joined([v.unsqueeze(d) for v in values], d)
    return array_of(whole) if out is None else store_whole(out, whole)


def stacked(kind, tup, *, dtype=None, casting="same_kind"):
    """numpy.vstack, hstack, dstack and column_stack."""
    if casting != "same_kind":
        raise NotImplementedError("`casting`")
    values = _parts(_sequence(tup), dtype)
    if kind == "column_stack":
        return array_of(_joined([v.reshape((-1, 1)) if v.dim() < 2 else v for v in values], 1))
    rank = {"vstack": 2, "hstack": 1, "dstack": 3}[kind]
    values = [tensor(at_least(rank, array_of(v))) for v in values]
    axis = {"vstack": 0, "hstack": 0 if values[0].dim() == 1 else 1, "dstack": 2}[kind]
    return array_of(_joined(values, axis))


def split(equal, ary, indices_or_sections, axis=0):
    """numpy.split (`equal`) and numpy.array_split."""
    value = viewable(ary)
    (d,) = facts.axes_of(axis, value.dim())
    length = value.shape[d]
    if is_number(indices_or_sections):
        count = indices_or_sections
        if count <= 0 or equal and length % count:
            raise ValueError("array split does not result in an equal division")
        longer = length % count
        ends = [(length // count) * (i + 1) + min(i + 1, longer) for i in range(count - 1)]
    else:
        ends = list(indices_or_sections)
    parts = []
    start = 0
    for end in [*ends, length]:
        if not is_number(end) or end < 0:
            raise NotImplementedError("places that are no Python ints")
        stop = min(end, length)
        parts.append(view(value.narrow(d, min(start, length), max(stop - start, 0)), ary))
        start = end
    return parts


def split_along(axis, ary, indices_or_sections):
    """numpy.vsplit, hsplit, dsplit."""
    rank = tensor(ary).dim()
    if rank <= axis and not (axis == 1 and rank == 1):
        raise ValueError("too few dimensions to split along this axis")
    return split(True, ary, indices_or_sections, 0 if rank == 1 else axis)


# --- repetition -------------------------------------------------------------------------------------------------------


def broadcast_to(array, shape, subok=False):
    """numpy.broadcast_to: a view that cannot be written to."""
    return read_only_array_of(torch.broadcast_to(viewable(array), sizes(shape)))


def broadcast_arrays(*args, subok=False):
    """numpy.broadcast_arrays."""
    values = torch.broadcast_tensors(*[viewable(a) for a in args])
    return tuple([read_only_array_of(v) for v in values])


def repeat(a, repeats, axis=None):
    """numpy.repeat: each element, or along one axis."""
    value = tensor(a)
    if not is_number(repeats):
        raise NotImplementedError("repetitions that are no Python int")
    if axis is None:
        value = value.reshape((-1,))
        axis = 0
    (d,) = facts.axes_of(axis, value.dim())
    wider = value.unsqueeze(d + 1)
    shape = list(wider.shape)
    shape[d + 1] = repeats
    final = list(value.shape)
    final[d] = final[d] * repeats
    return array_of(torch.broadcast_to(wider, tuple(shape)).reshape(tuple(final)).clone())


def tile(A, reps):  # noqa: N803  NumPy's name
    """numpy.tile."""
    value = tensor(A)
    counts = sizes(reps)
    if is_array(A) and all([n == 1 for n in counts]):
        made = copied(value)
        return array_of(made.reshape((1,) * (len(counts) - made.dim()) + tuple(made.shape)))
    return array_of(torch.tile(value, counts).clone())


def roll(a, shift, axis=None):
    """numpy.roll."""
    value = tensor(a)
    if not is_number(shift) and not isinstance(shift, (list, tuple)):
        raise NotImplementedError("a shift that is no Python int")
    if axis is None:
        if not is_number(shift):
            raise NotImplementedError("several shifts of the flattened array")
        return array_of(torch.roll(value.reshape((-1,)), shift, 0).reshape(value.shape))
    axes = [facts.axes_of(d, value.dim())[0] for d in sizes(axis)]  # an axis may be given twice
    shifts = sizes(shift)
    if len(shifts) == 1:
        shifts = shifts * len(axes)

    def make(order):
        return (
            torch.roll(value, shifts, axes)
            if order is None
            else torch.roll(value.permute(order), shifts, [order.index(d) for d in axes])
        )

    return array_of(like_operands([value], make))


# --- diagonals --------------------------------------------------------------------------------------------------------


def triangle(upper, m, k=0):
    """numpy.tril and numpy.triu."""
    value = tensor(m)
    if value.dim() < 2:
        raise NotImplementedError("a triangle of a vector")
    made = torch.triu(value, k) if upper else torch.tril(value, k)
    if value.is_contiguous():
        return array_of(made)
    rows, columns = value.shape[-2:]
    mask = [None] * (value.dim() - 2) + [columns, 1]  # NumPy chooses by a mask with C's order
    if rows == 1 or columns == 1:
        mask = [None] * value.dim()
    return array_of(laid(made, axes_iterated([strides_by_axis(value, value.dim()), mask])))


def diag(v, k=0):
    """numpy.diag: of a matrix a view that cannot be written to, of a vector a new matrix."""
    value = viewable(v)
    if value.dim() == 1:
        return array_of(torch.diag(value, k))
    if value.dim() == 2:
        return read_only_array_of(torch.diagonal(value, k))
    raise ValueError("Input must be 1- or 2-d.")


def diagonal(a, offset=0, axis1=0, axis2=1):
    """numpy.diagonal: a view that cannot be written to."""
    return read_only_array_of(torch.diagonal(viewable(a), offset, axis1, axis2))


def trace(a, offset=0, axis1=0, axis2=1, dtype=None, out=None):
    """numpy.trace."""
    return folded("sum", diagonal(a, offset, axis1, axis2), -1, dtype, out)


def meshgrid(*xi, copy=True, sparse=False, indexing="xy"):
    """numpy.meshgrid of vectors, as copies."""
    if copy is not True or sparse is not False or len(xi) < 2:
        raise NotImplementedError("a meshgrid of views")
    grids = torch.meshgrid(*[tensor(x).reshape((-1,)) for x in xi], indexing=indexing)
    return tuple([array_of(g.clone()) for g in grids])


def shape_of(a):
    """numpy.shape."""
    return tuple(tensor(a).shape)


def ndim_of(a):
    """numpy.ndim."""
    return tensor(a).dim()


def size_of(a, axis=None):
    """numpy.size."""
    value = tensor(a)
    return value.numel() if axis is None else value.shape[axis]
