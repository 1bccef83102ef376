"""Makes one batch of a list of samples: tensors get a new first dimension, containers keep their structure."""

import copy
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence

from .... import _C
from ...._absent import absent_names as _absent_names

_NO_NUMBERS = "SUO"  # kinds of NumPy's dtypes: bytes, text, objects


def _numpy_kind(value):
    """ "" for what NumPy did not make; which is asked without importing it."""
    kind = type(value)
    is_numpy = any(base.__module__ == "numpy" for base in kind.__mro__) and not isinstance(value, (str, bytes))
    return getattr(getattr(value, "dtype", None), "kind", "") if is_numpy else ""


def _is_namedtuple(value):
    return isinstance(value, tuple) and hasattr(value, "_fields")


def _like_mapping(sample, values):
    """`values` in a mapping of the sample's type; a dict, where there is no making one."""
    try:
        if isinstance(sample, MutableMapping):
            made = copy.copy(sample)
            made.update(values)
            return made
        return type(sample)(values)
    except TypeError:
        return values


def _like_sequence(sample, values):
    """`values` in a sequence of the sample's type; a list, where there is no making one."""
    try:
        if isinstance(sample, MutableSequence):
            made = copy.copy(sample)
            for i, value in enumerate(values):
                made[i] = value
            return made
        return values if isinstance(sample, range) else type(sample)(values)
    except TypeError:
        return values


def default_convert(data):
    """NumPy's arrays and numbers become tensors, inside containers too; anything else stays what it is."""
    if isinstance(data, _C.Tensor):
        return data
    if kind := _numpy_kind(data):
        return data if kind in _NO_NUMBERS else _C.as_tensor(data)
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: default_convert(data[key]) for key in data})
    if _is_namedtuple(data):
        return type(data)(*map(default_convert, data))
    if isinstance(data, tuple):
        return [default_convert(part) for part in data]
    if isinstance(data, Sequence) and not isinstance(data, (str, bytes)):
        return _like_sequence(data, [default_convert(part) for part in data])
    return data


def pinned(data):
    """The tensors in it, inside containers too, in pinned memory; objects with a `pin_memory()` are asked."""
    if isinstance(data, (str, bytes)):
        return data
    if isinstance(data, Mapping):
        return _like_mapping(data, {key: pinned(value) for key, value in data.items()})
    if _is_namedtuple(data):
        return type(data)(*map(pinned, data))
    if isinstance(data, tuple):
        return [pinned(part) for part in data]
    if isinstance(data, Sequence):
        return _like_sequence(data, [pinned(part) for part in data])
    return data.pin_memory() if hasattr(data, "pin_memory") else data


def collate_tensor_fn(batch, *, collate_fn_map=None):
    """Stacks: tensors of shape S to one of shape (len(batch), *S)."""
    return _C.stack(batch, 0)


def collate_float_fn(batch, *, collate_fn_map=None):
    """Python's floats: a float64 tensor of shape (len(batch),)."""
    return _C.tensor(batch, dtype=_C.float64)


def collate_int_fn(batch, *, collate_fn_map=None):
    """Python's ints or bools: a tensor of shape (len(batch),)."""
    return _C.tensor(batch)


def collate_str_fn(batch, *, collate_fn_map=None):
    """Text stays a list."""
    return batch


default_collate_fn_map = {
    _C.Tensor: collate_tensor_fn,
    float: collate_float_fn,
    int: collate_int_fn,
    str: collate_str_fn,
    bytes: collate_str_fn,
}


def _refuse(kind):
    raise TypeError(
        f"no batch is made of samples of type {kind}: they hold tensors, NumPy arrays, numbers, text, dicts, lists"
    )


def _collate_numpy(batch, kind, collate_fn_map):
    if kind in _NO_NUMBERS:
        _refuse(f"NumPy array of {batch[0].dtype}")
    if batch[0].shape == ():
        return _C.stack([_C.as_tensor(sample) for sample in batch])
    return collate([_C.as_tensor(sample) for sample in batch], collate_fn_map=collate_fn_map)


def collate(batch, *, collate_fn_map=None):
    """A batch of a list of samples, by the type of the first one: that type's own function in `collate_fn_map`, or
    what its structure asks for. TypeError for types unknown, RuntimeError for sequences of unequal lengths.
    """
    first = batch[0]
    functions = collate_fn_map or {}
    if type(first) in functions:
        return functions[type(first)](batch, collate_fn_map=collate_fn_map)
    numpy_kind = _numpy_kind(first)  # before the loop: its float64 is a float
    for kind, function in functions.items():
        if isinstance(first, kind) and not numpy_kind:
            return function(batch, collate_fn_map=collate_fn_map)
    if numpy_kind and collate_fn_map:
        return _collate_numpy(batch, numpy_kind, collate_fn_map)
    if isinstance(first, Mapping):
        merged = {key: collate([s[key] for s in batch], collate_fn_map=collate_fn_map) for key in first}
        return _like_mapping(first, merged)
    if _is_namedtuple(first):
        return type(first)(*(collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)))
    if isinstance(first, Sequence) and not isinstance(first, (str, bytes)):
        if len({len(sample) for sample in batch}) > 1:
            raise RuntimeError(f"sequences of unequal lengths in a batch: {[len(sample) for sample in batch]}")
        merged = [collate(column, collate_fn_map=collate_fn_map) for column in zip(*batch)]
        return merged if isinstance(first, tuple) else _like_sequence(first, merged)
    return _refuse(type(first).__qualname__)


def default_collate(batch):
    """Stacks tensors, NumPy's arrays and numbers; text stays a list; dicts, tuples and lists are gone into.

    IndexError for no samples, TypeError for what has no place in a tensor (None too).
    """
    return collate(batch, collate_fn_map=default_collate_fn_map)


__getattr__ = _absent_names(__name__)
