"""The order of a result's axes in memory, where NumPy takes it from the operands (`order="K"`)."""

import minidynamo as torch


def axes_in_memory(values):
    """The axes of tensors of one rank, outermost first: two axes change places where all operands say so."""
    order = list(range(values[0].dim()))
    for i in range(1, len(order)):
        axis = order[i]
        place = i
        for j in range(i - 1, -1, -1):
            larger = _strides_more(values, axis, order[j])
            if larger is False:
                break
            if larger:
                place = j
        order.insert(place, order.pop(i))
    return order


def _strides_more(values, axis, other):
    """Whether `axis` lies outside of `other` in every operand; None where none tells, one of the sizes being 1."""
    told = None
    for v in values:
        if v.shape[axis] == 1 or v.shape[other] == 1:
            continue
        if v.stride(axis) <= v.stride(other):
            return False
        told = True
    return told


def like_operands(values, make):
    """The tensor that `make(order)` gives with its axes in that order in memory, `order` being that of the operands.

    `make(None)` makes it with its axes as they are numbered, which fits operands that lie like this.
    """
    if all([v.is_contiguous() for v in values]):
        return make(None)
    order = axes_in_memory(values)
    if order == list(range(len(order))):
        return make(None)
    made = make(order)
    return made.permute([order.index(d) for d in range(len(order))])


def joined(values, axis):
    """torch.cat along `axis`, laid out as NumPy does."""
    rank = values[0].dim()
    axis = axis + rank if axis < 0 else axis

    def make(order):
        if order is None:
            return torch.cat(values, dim=axis)
        return torch.cat([v.permute(order) for v in values], dim=order.index(axis))

    return like_operands(values, make)


def copied(value):
    """A tensor with the elements of `value` in memory of its own, without gaps, its axes in the same order."""
    return like_operands([value], lambda axes: (value if axes is None else value.permute(axes)).clone().contiguous())
