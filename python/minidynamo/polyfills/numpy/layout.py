"""The order of a result's axes in memory, where NumPy takes it from the operands (`order="K"`)."""

import minidynamo as torch


def axes_in_memory(values):
    """The axes of tensors of one rank, outermost first: two axes change places where all operands say so."""
    axes = list(range(values[0].dim()))
    return _sorted(axes, [strides_by_axis(v, len(axes)) for v in values], True)


def axes_iterated(strides):
    """The axes in the order in which NumPy's iterator walks over its operands, and lays out what it allocates.

    `strides`: per operand one number per axis, None where the operand has nothing to tell. Axes are numbered outermost
    first, and compared from the innermost on: with operands that disagree the result depends on it.
    """
    axes = list(range(len(strides[0]) - 1, -1, -1))
    return _sorted(axes, [[None if s == 0 else s for s in row] for row in strides], False)[::-1]


def strides_by_axis(value, rank):
    """By axis of a result of this rank; None for axes the tensor does not have or with one element."""
    missing = rank - value.dim()
    return [None] * missing + [value.stride(d) if value.shape[d] != 1 else None for d in range(value.dim())]


def _sorted(axes, strides, outermost_first):
    """Insertion sort, as NumPy's: where operands disagree, axes stay as they are numbered."""
    for i in range(1, len(axes)):
        axis = axes[i]
        place = i
        for j in range(i - 1, -1, -1):
            found = _goes_before(strides, axis, axes[j], outermost_first)
            if found is False:
                break
            if found:
                place = j
        axes.insert(place, axes.pop(i))
    return axes


def _goes_before(strides, axis, other, outermost_first):
    """Whether the axis lies outside of (or inside of) the other in every operand; None where none tells."""
    told = None
    for row in strides:
        a, b = (row[axis], row[other]) if outermost_first else (row[other], row[axis])
        if a is None or b is None:
            continue
        if a <= b:
            return False
        told = True
    return told


def lies(value, order):
    """Whether the elements fill their memory without gaps, the axes in this order."""
    expected = 1
    for d in reversed(order):
        if value.shape[d] == 0:
            return True
        if value.shape[d] != 1:
            if value.stride(d) != expected:
                return False
            expected = expected * value.shape[d]
    return True


def laid(value, order):
    """The tensor itself if it lies so, otherwise a copy that does."""
    if lies(value, order):
        return value
    if order == list(range(len(order))):
        return value.contiguous()
    return value.permute(order).contiguous().permute(places(order))


def places(order):
    """Where each axis has gone in an order of axes."""
    return [order.index(d) for d in range(len(order))]


def iterated(value, operands):
    """What was computed elementwise from the operands, with its axes in memory as NumPy's iterator lays them."""
    rank = value.dim()
    if rank < 2 or value.is_contiguous() and all([v.is_contiguous() for v in operands]):
        return value
    return laid(value, axes_iterated([strides_by_axis(v, rank) for v in operands]))


def folded(value, original, dims, keep):
    """What a reduction of `original` over `dims` gave, its axes in memory in the order of those of `original`."""
    if value.dim() < 2 or value.is_contiguous() and original.is_contiguous():
        return value
    order = axes_iterated([strides_by_axis(original, original.dim())])
    if keep:
        return laid(value, order)
    kept = [d for d in range(original.dim()) if d not in dims]
    return laid(value, [kept.index(d) for d in order if d in kept])


def like_operands(values, make):
    """The tensor that `make(order)` gives with its axes in that order in memory, `order` being that of the operands.

    `make(None)` makes it with its axes as they are numbered, which fits operands that lie like this.
    """
    if all([v.is_contiguous() for v in values]):
        return make(None)
    order = axes_in_memory(values)
    if order == list(range(len(order))):
        return make(None)
    return make(order).permute(places(order))


def joined(values, axis):
    """torch.cat along `axis`, laid out as NumPy does."""
    rank = values[0].dim()
    axis = axis + rank if axis < 0 else axis

    def make(order):
        if order is None:
            return torch.cat(values, dim=axis)
        return torch.cat([v.permute(order) for v in values], dim=order.index(axis))

    return like_operands(values, make)


def ordered_axes(value, order):
    """The axes of a copy of the tensor in memory for NumPy's `order`. Fortran's breaks, also where it may be ("A")."""
    if order == "C" or order in ("K", None) and value.is_contiguous():
        return list(range(value.dim()))
    if order in ("K", None):
        return axes_in_memory([value])
    raise NotImplementedError("memory in Fortran's order, or in one that depends on the operand")


def copied(value, order="K", dtype=None):
    """A tensor with the elements of `value` in memory of its own, without gaps, its axes as `order` says."""
    axes = ordered_axes(value, order)
    if dtype is not None and value.dtype != dtype:
        return laid(value.to(dtype), axes)
    made = laid(value, axes)
    return value.clone() if made is value else made
