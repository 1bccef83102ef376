"""array[key] and array[key] = value."""

import minidynamo as torch

from ..bridge import array_of, is_array, is_number, is_reversed, is_scalar, reversed_view, scalar_of, tensor_of
from . import facts
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
    taken = 0
    for part in parts:
        if part is not None and part is not Ellipsis:
            taken = taken + dims_taken(part)
    if taken > value.dim():
        raise IndexError("too many indices for array")
    dims = []
    dim = 0
    for part in parts:
        dims.append(dim)
        if part is Ellipsis:
            dim = dim + value.dim() - taken
        elif part is not None:
            dim = dim + dims_taken(part)
    return dims


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
        return selected(found, key)
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


def set_item(self, key, value):
    """Assigned values take the dtype of the array."""
    target = writeable_tensor(self)
    made = key
    if is_array(key) and not is_scalar(key) and tensor_of(key).dtype == torch.bool:
        made = tensor_of(key)
    else:
        made, _ = tensor_key(key, target)
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
