"""types.SimpleNamespace, weakref.ref."""

import types
import weakref

from . import bridge


class namespace:
    def __init__(self, /, **kwargs):
        self.values = dict(kwargs)

    def __getattr__(self, name):
        if name == "__dict__":
            bridge.refuse("types.SimpleNamespace", "the dictionary of a namespace")
        if name not in self.values:
            raise AttributeError(f"'types.SimpleNamespace' object has no attribute '{name}'")
        return self.values[name]

    def __setattr__(self, name, value):
        self.values[name] = value

    def __delattr__(self, name):
        if name not in self.values:
            raise AttributeError(f"'types.SimpleNamespace' object has no attribute '{name}'")
        del self.values[name]

    def __eq__(self, other):
        if type(other) is not types.SimpleNamespace:
            return NotImplemented
        return self.values == _values_of(other)

    def __ne__(self, other):
        if type(other) is not types.SimpleNamespace:
            return NotImplemented
        return self.values != _values_of(other)

    def rebuilt(self):
        return types.SimpleNamespace, (), 0, self.values


def _values_of(self):
    return self.values


class reference:
    """Gives the object as long as a variable holds it; what happens to others only plain Python knows."""

    def __init__(self, obj, callback=None, /):
        if callback is not None:
            bridge.refuse("weakref.ref", "a callback")
        if not bridge.takes_references(obj):
            raise TypeError(f"cannot create weak reference to '{type(obj).__name__}' object")
        if not bridge.is_made_here(obj):
            bridge.refuse("weakref.ref", "an object that others may let go of")
        self.obj = obj

    def __call__(self):
        if not bridge.is_held(self.obj):
            bridge.refuse("weakref.ref", "an object that no variable holds")
        return self.obj

    def rebuilt(self):
        return weakref.ref, (self.obj,)


TABLE = {
    types.SimpleNamespace: namespace,
    weakref.ref: reference,
}
