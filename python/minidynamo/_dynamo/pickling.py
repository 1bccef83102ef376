"""Compiled functions in pickles: a name, where they can be found by it, else what was compiled and how."""

import importlib
import pickle
import sys

from .. import _C
from .callables import Options, compile_callable
from .eval_frame import resolve_backend
from .exc import InvalidBackend


def reduced(compiled):
    """What pickle and its kin write for a compiled function.

    Where its name leads to it, that name, as of every function, unless who pickles wants the function's code (see
    `_wants_code`). Otherwise the function under it and its options, of which compile() makes another one on arrival.
    """
    name = compiled.__qualname__
    if _is_found(compiled, name) and not _wants_code(_pickler(sys._getframe(1)), compiled.__module__):
        return name
    return rebuilt, (_C._original(compiled), Options(*_C._options_of(compiled))), dict(compiled.__dict__)


def rebuilt(original, options):
    return compile_callable(original, options)


def reduced_options(options):
    """A backend with a name goes by its name: what it is there is for the place of arrival to say."""
    backend, name = options[:2]
    try:
        by_name = resolve_backend(name) == (backend, name)
    except InvalidBackend:
        by_name = False
    return made_options, (None if by_name else backend, *options[1:])


def made_options(backend, name, *others):
    return Options(*((backend, name) if backend is not None else resolve_backend(name)), *others)


def _is_found(compiled, name):
    try:
        found = importlib.import_module(compiled.__module__)
        for part in name.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError, TypeError, ValueError):
        return False
    return found is compiled


def _pickler(frame):
    """The pickler that asks, where it is one with methods in Python: its method is the innermost frame."""
    pickler = frame.f_locals.get("self") if frame is not None else None
    return pickler if isinstance(pickler, (pickle.Pickler, pickle._Pickler)) else None


def _wants_code(pickler, module):
    """Whether functions of a module are written with their code, for a process that cannot import them.

    cloudpickle (and those who carry a copy of it) does so with what was defined in `__main__`, and with modules that
    the program names; dill with `__main__`.
    """
    if pickler is None or not (hasattr(pickler, "reducer_override") or hasattr(pickler, "_byref")):
        return False
    if module == "__main__":
        return not getattr(pickler, "_byref", False)
    named = set()
    for base in type(pickler).__mro__:
        named.update(getattr(sys.modules.get(base.__module__), "_PICKLE_BY_VALUE_MODULES", ()))
    parts = module.split(".")
    return any(".".join(parts[: k + 1]) in named for k in range(len(parts)))
