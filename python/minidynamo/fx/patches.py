"""What is changed while a function is traced, and put back afterwards: names that are wrapped, methods of Module."""

import builtins
import functools
import sys

from .node import map_aggregate

_ABSENT = object()
# (id of a module's dictionary, name) -> that dictionary; (class, method name) of wrapped methods.
_wrapped_names = {}
_wrapped_methods = []


def wrap(fn_or_name):
    """Has calls of a function written down instead of traced through; also a decorator.

    `wrap("name")` at module scope, or `wrap(f)` of a function defined or imported there, means that name of the module
    which calls wrap(): calls by it are recorded in every trace. Names may be those of builtins, such as "len". Gives
    back what it was given. Raises RuntimeError for anything but a function or a name, NotImplementedError within a
    function.
    """
    if not callable(fn_or_name) and not isinstance(fn_or_name, str):
        raise RuntimeError(f"wrap() takes a function or the name of one, not a {type(fn_or_name).__name__}")
    if callable(fn_or_name):
        if isinstance(fn_or_name, str):
            raise AssertionError("a name is not callable")
        name = fn_or_name.__name__
    else:
        name = fn_or_name
    frame = sys._getframe(1)
    if frame.f_code.co_name != "<module>":
        raise NotImplementedError(
            f"wrap({name!r}) has to stand at the top level of a module, not in {frame.f_code.co_name}(): it is the "
            "module's name that is wrapped"
        )
    _wrapped_names[(id(frame.f_globals), name)] = frame.f_globals
    return fn_or_name


def find_proxy(*values):
    """The first Proxy in nested arguments, or None."""
    from .proxy import Proxy

    found = []
    map_aggregate(values, lambda value: found.append(value) if isinstance(value, Proxy) else None)
    return found[0] if found else None


def recording(original):
    """A function that is written down when it is called with a proxy, and called when not."""

    @functools.wraps(original)
    def wrapped(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        made = proxy.tracer.create_proxy("call_function", original, args, kwargs)
        made.node.meta["is_wrapped"] = True
        return made

    wrapped._fx_already_patched = True
    return wrapped


def _recording_method(cls, name):
    original = getattr(cls, name)

    @functools.wraps(original)
    def wrapped(*args, **kwargs):
        proxy = find_proxy(args, kwargs)
        if proxy is None:
            return original(*args, **kwargs)
        return proxy.tracer.create_proxy("call_method", name, args, kwargs)

    return wrapped


class Patches:
    """`with` block: attributes and names set by it have their former values afterwards."""

    def __init__(self):
        self._undo = []
        self._visited = set()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for undo in reversed(self._undo):
            undo()
        self._undo.clear()
        self._visited.clear()

    def set_name(self, names, name, value):
        """Changes the dictionary of a module."""
        before = names.get(name, _ABSENT)
        self._undo.append(lambda: names.pop(name, None) if before is _ABSENT else names.__setitem__(name, before))
        names[name] = value

    def set_method(self, cls, name, value):
        """Changes a method of a class."""
        before = cls.__dict__.get(name, _ABSENT)
        self._undo.append(lambda: delattr(cls, name) if before is _ABSENT else setattr(cls, name, before))
        setattr(cls, name, value)

    def wrap_all(self):
        """Names that wrap() was told of."""
        for (_, name), names in list(_wrapped_names.items()):
            original = names.get(name, getattr(builtins, name, None))
            if original is not None and not hasattr(original, "_fx_already_patched"):
                self.set_name(names, name, recording(original))
        for cls, name in _wrapped_methods:
            self.set_method(cls, name, _recording_method(cls, name))

    def autowrap(self, names, function_ids):
        """Names of a module that mean functions with these ids."""
        if id(names) in self._visited:
            return
        self._visited.add(id(names))
        for name, value in list(names.items()):
            if not name.startswith("_") and callable(value) and id(value) in function_ids:
                self.set_name(names, name, recording(value))


def public_functions(modules):
    """ids of the functions of modules, for autowrap()."""
    return {
        id(value)
        for module in modules
        for name, value in vars(module).items()
        if not name.startswith("_") and callable(value)
    }
