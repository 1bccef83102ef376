"""What leads from a container to one of its parts: the steps of torch.utils._pytree's paths, and their text.

ConstantNode, what a nesting keeps of a constant, is a value of the same kind.
"""


class Record:
    """An object of named values that compares by them and is not changed. (dataclasses would take longer to import.)"""

    _names = ()

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return all([getattr(self, name) == getattr(other, name) for name in self._names])

    def __hash__(self):
        return hash(tuple([getattr(self, name) for name in self._names]))

    def __repr__(self):
        return f"{type(self).__name__}({', '.join([f'{name}={getattr(self, name)!r}' for name in self._names])})"

    def __setattr__(self, name, value):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name):
        from dataclasses import FrozenInstanceError

        raise FrozenInstanceError(f"cannot delete field {name!r}")


class SequenceKey(Record):
    """The part at a position: `idx`."""

    _names = ("idx",)

    def __init__(self, idx):
        object.__setattr__(self, "idx", idx)

    def __str__(self):
        return f"[{self.idx!r}]"

    def get(self, sequence):
        """The part of this sequence."""
        return sequence[self.idx]


class MappingKey(Record):
    """The part at a key: `key`."""

    _names = ("key",)

    def __init__(self, key):
        object.__setattr__(self, "key", key)

    def __str__(self):
        return f"[{self.key!r}]"

    def get(self, mapping):
        """The part of this mapping."""
        return mapping[self.key]


class GetAttrKey(Record):
    """The part that is an attribute: `name`."""

    _names = ("name",)

    def __init__(self, name):
        object.__setattr__(self, "name", name)

    def __str__(self):
        return f".{self.name}"

    def get(self, obj):
        """The part of this object."""
        return getattr(obj, self.name)


class ConstantNode(Record):
    """The context of an instance of a constant class: `value`."""

    _names = ("value",)

    def __init__(self, value):
        object.__setattr__(self, "value", value)


def keystr(kp):
    """A path as text, as it would stand behind a variable: `['a'][0].x`."""
    return "".join([str(key) for key in kp])


def key_get(obj, kp):
    """What the path leads to from `obj`; KeyError, IndexError or AttributeError where it leads nowhere."""
    for key in kp:
        obj = key.get(obj)
    return obj
