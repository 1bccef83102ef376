"""array[key] and array[key] = value."""

import minidynamo as torch

from ..bridge import array_of, is_array, is_number, is_reversed, is_scalar, reversed_view, scalar_of, tensor_of
from . import facts
from .layout import axes_iterated, iterated, laid
from .operands import as_array, check_number, tensor, view, viewable, writeable_tensor


def tensor_key(key, value):
    """The key as tensors take it, and whether it selects elements by arrays."""
    parts = key if isinstance(key, tuple) else (key,)
    made = []
    advanced = False
    dims = dims_of(parts, value)
    for position, part in enumerate(parts):
        if is_array(part):
            index = tensor_of(part)
            if index.dtype != torch.bool and facts.integer_range(index.dtype) is None:
                raise IndexError("arrays used as indices must be of integer (or boolean) type")
            made.append(index if index.dtype == torch.bool else index.to(torch.int64))
            advanced = True
        elif isinstance(part, list):
            made.append(list_index(part))
            advanced = True
        elif isinstance(part, slice):
            made.append(forward(part, value.shape[dims[position]]))
        elif part is None or part is Ellipsis or is_number(part) and not isinstance(part, (bool, float)):
            made.append(part)
        else:
            raise NotImplementedError("an index of this kind")
    return tuple(made), advanced


def dims_of(parts, value):
    """Of each part of a key the dim it belongs to (any number for parts that have none)."""
    unnamed = dims_unnamed(parts, value)
    if unnamed < 0:
        raise IndexError("too many indices for array")
    dims = []
    dim = 0
    for part in parts:
        dims.append(dim)
        if part is Ellipsis:
            dim = dim + unnamed
        elif part is not None:
            dim = dim + dims_taken(part)
    return dims


def dims_unnamed(parts, value):
    """How many dims an ellipsis stands for, or are left over where there is none."""
    return value.dim() - sum([dims_taken(part) for part in parts if part is not None and part is not Ellipsis])


def dims_taken(part):
    """A mask stands for as many dims as it has."""
    return tensor_of(part).dim() if is_array(part) and tensor_of(part).dtype == torch.bool else 1


def list_index(values):
    if len(values) == 0:
        return torch.zeros((0,), dtype=torch.int64)
    index = tensor_of(as_array(values))
    return index if index.dtype == torch.bool else index.to(torch.int64)


def forward(part, length):
    """The slice itself, or one that selects the same elements in ascending order: tensors have no others."""
    for bound in (part.start, part.stop, part.step):
        if bound is not None and not is_number(bound):
            raise NotImplementedError("bounds of a slice that are no Python ints")
    if part.step is None or part.step >= 0:
        return part
    first = length - 1 if part.start is None else bounded(part.start, length)
    beyond = -1 if part.stop is None else bounded(part.stop, length)
    count = (first - beyond - part.step - 1) // -part.step
    if count <= 0:
        return slice(0, 0)
    return slice(first + (count - 1) * part.step, first + 1, -part.step)


def bounded(place, length):
    """A bound of a slice that goes backward: -1 is before the first element."""
    if place < 0:
        place = place + length
    if place < 0:
        return -1
    return place if place < length else length - 1


def goes_backward(part):
    return isinstance(part, slice) and part.step is not None and is_number(part.step) and part.step < 0


def has_ellipsis(key):
    return key is Ellipsis or isinstance(key, tuple) and Ellipsis in key


def backward_dims(key, value):
    """The dims of value[key] that a slice goes through backward."""
    parts = key if isinstance(key, tuple) else (key,)
    backward = False
    for part in parts:
        if goes_backward(part):
            backward = True
    if not backward:
        return []
    taken = 0
    for part in parts:
        if part is not None and part is not Ellipsis:
            taken = taken + 1
    flips = []
    dim = 0
    for part in parts:
        if part is Ellipsis:
            dim = dim + value.dim() - taken
        elif part is None or isinstance(part, slice):
            if goes_backward(part):
                flips.append(dim)
            dim = dim + 1
        elif not is_number(part):
            raise NotImplementedError("a slice that goes backward beside index arrays")
    return flips


def get_item(self, key):
    """A view for ints and slices, a copy for arrays; a scalar where every axis has an int."""
    if is_array(key) and not is_scalar(key) and tensor_of(key).dtype == torch.bool:
        return array_of(tensor_of(self)[tensor_of(key)])
    value = tensor_of(self) if is_reversed(self) else viewable(self)
    made, advanced = tensor_key(key, value)
    found = value[made]
    if advanced:
        backward_dims(key, value)  # refuses slices that go backward here
        return selected(laid_as_gathered(found, made, key, value), key)
    if found.dim() == 0 and not (isinstance(key, tuple) and Ellipsis in key or key is Ellipsis):
        return scalar_of(found.clone())
    flips = backward_dims(key, value)
    if flips or is_reversed(self):
        return reversed_view(torch.flip(found, flips) if flips else found, self, key)
    return view(found, self)


def flip(m, axis=None):
    """numpy.flip: a view."""
    self = as_array(m)
    axes = facts.axes_of(axis, tensor_of(self).dim())
    if len(axes) == 0:
        return view(viewable(self), self)
    return get_item(self, tuple([slice(None, None, -1 if d in axes else None) for d in range(tensor_of(self).dim())]))


def flip_rows(m):
    """numpy.flipud."""
    return flip(m, 0)


def flip_columns(m):
    """numpy.fliplr."""
    return flip(m, 1)


def selected(found, key):
    """An int in an array is an int to NumPy, and what it selects is a view: told apart only where elements come out."""
    parts = key if isinstance(key, tuple) else (key,)
    scalars = True
    for part in parts:
        if is_array(part) and tensor_of(part).dim() > 0 or isinstance(part, list):
            scalars = False
    if not scalars:
        return array_of(found)
    if found.dim() > 0:
        raise NotImplementedError("a row selected by a value of the program")
    return scalar_of(found)


def is_index_array(part):
    return is_array(part) or isinstance(part, list)


def places_gathered(key, value):
    """Before which dim of value[key] the dims of index arrays come in torch and in NumPy.

    To both, arrays that stand apart have theirs in front. To NumPy an int beside arrays is one of them, and an ellipsis
    sets apart even where it stands for no dim.
    """
    parts = key if isinstance(key, tuple) else (key,)
    arrays = [i for i, part in enumerate(parts) if is_index_array(part)]
    members = [i for i, part in enumerate(parts) if is_index_array(part) or is_number(part)]
    width = dims_unnamed(parts, value)
    return place_gathered(parts, arrays, width, width > 0), place_gathered(parts, members, width, True)


def place_gathered(parts, members, width, ellipsis_counts):
    for part in parts[members[0] : members[-1]]:
        if part is None or isinstance(part, slice) or part is Ellipsis and ellipsis_counts:
            return 0
    place = 0
    for part in parts[: members[0]]:
        if part is Ellipsis:
            place = place + width
        elif not is_number(part):
            place = place + 1
    return place


def strides_beside(key, value):
    """Of the dims of value[key] that index arrays do not make."""
    parts = key if isinstance(key, tuple) else (key,)
    starts = dims_of(parts, value)
    left = dims_unnamed(parts, value)
    found = []
    for position, part in enumerate(parts):
        dim = starts[position]
        if part is None:
            found.append(0)
        elif part is Ellipsis:
            found.extend([value.stride(d) for d in range(dim, dim + left)])
            left = 0
        elif isinstance(part, slice):
            found.append(value.stride(dim) * (1 if part.step is None else abs(part.step)))
    found.extend([value.stride(d) for d in range(value.dim() - left, value.dim())])
    return found


def laid_as_gathered(found, made, key, value):
    """value[key] with dims and memory in NumPy's order: those of index arrays are outermost in memory."""
    arrays = [part for part in made if torch.is_tensor(part)]
    rank = max([1 if a.dtype == torch.bool else a.dim() for a in arrays])
    if rank == 0:
        return found
    place, wanted = places_gathered(key, value)
    if place:
        found = found.permute((*range(place, place + rank), *range(place), *range(place + rank, found.dim())))
    if found.dim() == rank:
        found = iterated(found, [a for a in arrays if a.dtype != torch.bool])
    else:
        strides = [s if found.shape[rank + i] != 1 else None for i, s in enumerate(strides_beside(key, value))]
        found = laid(found, [*range(rank), *[rank + d for d in axes_iterated([strides])]])
    if wanted:
        found = found.permute((*range(rank, rank + wanted), *range(rank), *range(rank + wanted, found.dim())))
    return found


def set_item(self, key, value):
    """Assigned values take the dtype of the array."""
    target = writeable_tensor(self)
    made = key
    if is_array(key) and not is_scalar(key) and tensor_of(key).dtype == torch.bool:
        made = tensor_of(key)
    else:
        made, advanced = tensor_key(key, target)
        if advanced:
            place, wanted = places_gathered(key, target)
            if place != wanted:
                raise NotImplementedError("writing where index arrays stand apart from an int")
        if backward_dims(key, target):
            raise NotImplementedError("writing through a slice that goes backward")
    if is_number(value):
        check_number(value, target.dtype)
        target[made] = value
        return
    source = tensor(value)
    if source.dim() > 0 and target[made].dim() == 0 and not has_ellipsis(key):
        raise ValueError("setting an array element with a sequence.")
    target[made] = source if source.dtype == target.dtype else source.to(target.dtype)
