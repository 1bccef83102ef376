"""What traced code runs for types.SimpleNamespace and weakref.ref."""

import types
import weakref

from . import bridge


class namespace:
    """`values` is the dictionary of a real namespace, or will be copied to one."""

    keeps_values = True
    made = False

    def __init__(self, /, **kwargs):
        self.made = True
        self.values = dict(kwargs)

    def __getattr__(self, name):
        if name == "__dict__":
            if self.made:
                bridge.refuse("types.SimpleNamespace", "the dictionary of a namespace")
            return self.values
        if name not in self.values:
            raise AttributeError(f"'types.SimpleNamespace' object has no attribute '{name}'")
        return self.values[name]

    def __setattr__(self, name, value):
        _refuse_special(name)
        self.values[name] = value

    def __delattr__(self, name):
        _refuse_special(name)
        if name not in self.values:
            raise AttributeError(f"'types.SimpleNamespace' object has no attribute '{name}'")
        del self.values[name]

    def __eq__(self, other):
        return self.values == _values_of(other) if _is_namespace(other) else NotImplemented

    def __ne__(self, other):
        return self.values != _values_of(other) if _is_namespace(other) else NotImplemented

    def __repr__(self):
        shown = [f"{name}={value!r}" for name, value in self.values.items() if isinstance(name, str) and name]
        return f"namespace({', '.join(shown)})"

    def rebuilt(self):
        return types.SimpleNamespace, (), 0, self.values


def _refuse_special(name):
    if name.startswith("__"):
        bridge.refuse("types.SimpleNamespace", "attributes that classes have")


def _is_namespace(other):
    if type(other) is not types.SimpleNamespace and isinstance(other, types.SimpleNamespace):
        bridge.refuse("types.SimpleNamespace", "an instance of a class derived from it")
    return type(other) is types.SimpleNamespace


def _values_of(self):
    return self.values


class reference:
    """Gives the object as long as a variable holds it, or nothing was given up; else only plain Python knows."""

    def __init__(self, obj, callback=None, /):
        # Weak dictionaries and sets take out what is gone. What else is called back may change anything at that moment.
        if callback is not None and (
            bridge.is_made_here(obj) or getattr(callback, "__module__", None) not in ("weakref", "_weakrefset")
        ):
            bridge.refuse("weakref.ref", "a callback")
        if not bridge.takes_references(obj):
            raise TypeError(f"cannot create weak reference to '{type(obj).__name__}' object")
        self.obj = obj
        self.callback = callback

    def __call__(self):
        # What was there before stays as long as the frame gives up nothing of it.
        if not bridge.is_held(self.obj) and (bridge.is_made_here(self.obj) or bridge.may_have_let_go()):
            bridge.refuse("weakref.ref", "an object that no variable holds")
        return self.obj

    def __eq__(self, other):
        if type(other) is not weakref.ref:
            return NotImplemented
        return self() == other()

    def __ne__(self, other):
        if type(other) is not weakref.ref:
            return NotImplemented
        return self() != other()

    def __hash__(self):
        return hash(self())

    def rebuilt(self):
        return weakref.ref, (self.obj,) if self.callback is None else (self.obj, self.callback)


TABLE = {
    types.SimpleNamespace: namespace,
    weakref.ref: reference,
}
