"""Modules that hold modules or parameters: Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict."""

import warnings
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from itertools import islice
from operator import index

from .. import _C
from .module import Module, _indented
from .parameter import Parameter

__all__ = ["Container", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList", "Sequential"]


def _position(length, where):
    where = index(where)
    if not -length <= where < length:
        raise IndexError(f"index {where} is out of range")
    return where % length


class Container(Module):
    """The old base class of modules that hold modules, given by name."""

    def __init__(self, **kwargs):
        super().__init__()
        warnings.warn("nn.Container is out of use: nn.Module holds modules itself", FutureWarning, stacklevel=2)
        for name, module in kwargs.items():
            self.add_module(name, module)


class Sequential(Module):
    """Modules called one after the other, each with the result of the one before."""

    def __init__(self, *args):
        super().__init__()
        named = args[0].items() if len(args) == 1 and isinstance(args[0], Mapping) else enumerate(args)
        for name, module in named:
            self.add_module(str(name), module)

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input

    def _name_at(self, where):
        return next(islice(self._modules, _position(len(self), where), None))

    def _rebuild(self, modules):
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def __getitem__(self, where):
        if isinstance(where, slice):
            return type(self)(dict(list(self._modules.items())[where]))
        return self._modules[self._name_at(where)]

    def __setitem__(self, where, module):
        setattr(self, self._name_at(where), module)

    def __delitem__(self, where):
        kept = list(self._modules.values())
        del kept[where if isinstance(where, slice) else _position(len(kept), where)]
        self._rebuild(kept)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __add__(self, other):
        self._only_sequential(other)
        return type(self)(*self, *other)

    def __iadd__(self, other):
        self._only_sequential(other)
        return self.extend(list(other))

    def __mul__(self, other):
        self._only_positive(other)
        return type(self)(*(module for _ in range(other) for module in self))

    __rmul__ = __mul__

    def __imul__(self, other):
        self._only_positive(other)
        return self.extend([module for _ in range(other - 1) for module in self])

    @staticmethod
    def _only_sequential(other):
        if not isinstance(other, Sequential):
            raise ValueError(f"add operator supports only objects of Sequential class, but {type(other)} is given.")

    def _only_positive(self, other):
        if not isinstance(other, int):
            raise TypeError(f"unsupported operand type(s) for *: {type(self)} and {type(other)}")
        if other <= 0:
            raise ValueError(f"Non-positive multiplication factor {other} for {type(self)}")

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def extend(self, sequential):
        for module in sequential:
            self.append(module)
        return self

    def insert(self, index, module):
        if not isinstance(module, Module):
            raise AssertionError(f"module should be of type: {Module}")
        if not -len(self) <= index <= len(self):
            raise IndexError(f"Index out of range: {index}")
        modules = list(self)
        modules.insert(index if index >= 0 else index + len(self), module)
        self._rebuild(modules)
        return self

    def pop(self, key):
        found = self[key]
        del self[key]
        return found


class ModuleList(Module):
    """A list of modules; it is not callable itself."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def _rebuild(self, modules):
        self._modules.clear()
        self._modules.update((str(i), module) for i, module in enumerate(modules))

    def __getitem__(self, where):
        if isinstance(where, slice):
            return type(self)(list(self._modules.values())[where])
        return self._modules[str(_position(len(self), where))]

    def __setitem__(self, where, module):
        setattr(self, str(_position(len(self), where)), module)

    def __delitem__(self, where):
        kept = list(self._modules.values())
        del kept[where if isinstance(where, slice) else _position(len(kept), where)]
        self._rebuild(kept)

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules.values())

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return type(self)([*self, *other])

    def insert(self, index, module):
        modules = list(self)
        modules.insert(index, module)
        self._rebuild(modules)

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        found = self[key]
        del self[key]
        return found

    def extend(self, modules):
        if not isinstance(modules, Iterable):
            raise TypeError(f"ModuleList.extend should be called with an iterable, but got {type(modules).__name__}")
        for module in list(modules):
            self.append(module)
        return self

    def __repr__(self):
        """Neighbours that look the same share a line."""
        runs = []
        for text in map(repr, self):
            if runs and runs[-1][2] == text:
                runs[-1][1] += 1
            else:
                first = runs[-1][1] + 1 if runs else 0
                runs.append([first, first, text])
        if not runs:
            return self._get_name() + "()"
        lines = [
            f"({first}): {text}" if first == last else f"({first}-{last}): {last - first + 1} x {text}"
            for first, last, text in runs
        ]
        return f"{self._get_name()}(\n  " + "\n  ".join(map(_indented, lines)) + "\n)"


def _pairs(given, name):
    """(key, value) of a mapping or an iterable of pairs."""
    if not isinstance(given, Iterable):
        raise TypeError(
            f"{name}.update should be called with an iterable of key/value pairs, but got {type(given).__name__}"
        )
    if isinstance(given, (Mapping, ModuleDict, ParameterDict)):
        return list(given.items())
    pairs = []
    for number, pair in enumerate(given):
        if not isinstance(pair, Iterable):
            raise TypeError(f"{name} update sequence element #{number} should be Iterable; is{type(pair).__name__}")
        pair = tuple(pair)
        if len(pair) != 2:
            raise ValueError(f"{name} update sequence element #{number} has length {len(pair)}; 2 is required")
        pairs.append(pair)
    return pairs


class ModuleDict(Module):
    """A dictionary of modules."""

    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(self._modules)

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        return self._modules.pop(key)

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules):
        for key, module in _pairs(modules, "ModuleDict"):
            self[key] = module


def _member_text(member, type_of):
    """`type_of` says the type of a tensor: ParameterList by its dtype, ParameterDict as Tensor.type() does."""
    if isinstance(member, _C.Tensor):
        size = "x".join(str(n) for n in member.shape)
        kind = "Parameter" if isinstance(member, Parameter) else "Tensor"
        return f"{kind} containing: [{type_of(member)} of size {size}]"
    return f"Object of type: {type(member).__name__}"


class ParameterList(Module):
    """A list whose tensors are parameters of it; other objects may be in it too."""

    def __init__(self, values=None):
        super().__init__()
        self._size = 0
        if values is not None:
            self.extend(values)

    def __getitem__(self, where):
        if isinstance(where, slice):
            return type(self)([self[i] for i in range(*where.indices(len(self)))])
        return getattr(self, str(_position(len(self), where)))

    def __setitem__(self, where, value):
        if isinstance(value, _C.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, str(_position(len(self), where)), value)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        self._size += 1
        self[self._size - 1] = value
        return self

    def extend(self, values):
        if not isinstance(values, Iterable) or isinstance(values, _C.Tensor):
            raise TypeError(f"ParameterList.extend should be called with an iterable, but got {type(values).__name__}")
        for value in list(values):
            self.append(value)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({n}): {_member_text(member, lambda x: x.dtype)}" for n, member in enumerate(self))

    def __repr__(self):
        return f"{self._get_name()}(\n" + "\n".join("  " + line for line in self.extra_repr().split("\n")) + "\n)"

    def __call__(self, *args, **kwargs):
        raise RuntimeError("ParameterList should not be called.")


class ParameterDict(Module):
    """A dictionary whose tensors are parameters of it; keys are strings."""

    def __init__(self, parameters=None):
        super().__init__()
        self._keys = {}
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, key)

    def __setitem__(self, key, value):
        if not isinstance(key, str):
            raise TypeError(
                f"Index given to ParameterDict cannot be used as a key as it is not a string (type is "
                f"'{type(key).__name__}'). Open an issue on github if you need non-string keys."
            )
        self._keys[key] = None
        if isinstance(value, _C.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, key, value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, key)

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(self._keys)

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        return self._keys.keys()

    def values(self):
        return [self[key] for key in self._keys]

    def items(self):
        return [(key, self[key]) for key in self._keys]

    def get(self, key, default=None):
        return self[key] if key in self else default

    def pop(self, key):
        found = self[key]
        del self[key]
        return found

    def clear(self):
        for key in list(self._keys):
            del self[key]

    def update(self, parameters):
        """Takes over pairs of key and value: those of a plain mapping by their keys in order, others as they come."""
        pairs = _pairs(parameters, "ParameterDict")
        if isinstance(parameters, Mapping) and not isinstance(parameters, OrderedDict):
            pairs.sort(key=lambda pair: pair[0])
        for key, value in pairs:
            self[key] = value

    def copy(self):
        """A dictionary with the same parameters."""
        return type(self)(self)

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def popitem(self):
        """Takes away the last pair, and gives it."""
        key, _ = self._keys.popitem()
        self._keys[key] = None
        return key, self.pop(key)

    def fromkeys(self, keys, default=None):
        """A dictionary with `default` for each of the keys."""
        return type(self)((key, default) for key in keys)

    def __reversed__(self):
        return reversed(list(self._keys))

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __ror__(self, other):
        made = type(self)(other)
        made.update(self)
        return made

    def __ior__(self, other):
        self.update(other)
        return self

    def extra_repr(self):
        return "\n".join(f"  ({key}): {_member_text(member, _C.Tensor.type)}" for key, member in self.items())

    def __call__(self, input):
        raise RuntimeError("ParameterDict should not be called.")
