"""array[key] and array[key] = value."""

import minidynamo as torch

from ..bridge import array_of, is_array, is_number, is_scalar, scalar_of, tensor_of
from . import facts
from .operands import as_array, check_number, tensor, view, viewable, writeable_tensor


def tensor_key(key):
    """The key as tensors take it, whether it selects elements by arrays, and whether a scalar comes out of 0 dims."""
    parts = key if isinstance(key, tuple) else (key,)
    made = []
    advanced = False
    for part in parts:
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
            made.append(forward(part))
        elif part is None or part is Ellipsis or is_number(part) and not isinstance(part, (bool, float)):
            made.append(part)
        else:
            raise NotImplementedError("an index of this kind")
    return tuple(made), advanced


def list_index(values):
    if len(values) == 0:
        return torch.zeros((0,), dtype=torch.int64)
    index = tensor_of(as_array(values))
    return index if index.dtype == torch.bool else index.to(torch.int64)


def forward(part):
    """A slice that goes forward: tensors have no others."""
    for bound in (part.start, part.stop, part.step):
        if bound is not None and not is_number(bound):
            raise NotImplementedError("bounds of a slice that are no Python ints")
    if part.step is not None and part.step < 0:
        raise NotImplementedError("a slice that goes backward")
    return part


def get_item(self, key):
    """A view for ints and slices, a copy for arrays; a scalar where every axis has an int."""
    if is_array(key) and not is_scalar(key) and tensor_of(key).dtype == torch.bool:
        return array_of(viewable(self)[tensor_of(key)])
    made, advanced = tensor_key(key)
    value = viewable(self)
    found = value[made]
    if advanced:
        return selected(found, key)
    if found.dim() == 0 and not (isinstance(key, tuple) and Ellipsis in key or key is Ellipsis):
        return scalar_of(found.clone())
    return view(found, self)


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
        made, _ = tensor_key(key)
    if is_number(value):
        check_number(value, target.dtype)
        target[made] = value
        return
    source = tensor(value)
    target[made] = source if source.dtype == target.dtype else source.to(target.dtype)
