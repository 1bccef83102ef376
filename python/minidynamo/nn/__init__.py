"""torch.nn for inference: modules, and functions in `functional`."""

import functools
from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules
from .._dynamo.callables import module_makers
from . import functional as functional


@functools.cache
def _exported():
    exported = import_module(".exported", __name__)
    return {k: v for k, v in vars(exported).items() if not k.startswith("_")}


def _compiled(module, options):
    from .compiled_module import OptimizedModule

    return OptimizedModule(module._orig_mod if isinstance(module, OptimizedModule) else module, options)


module_makers.compiled = _compiled


def _load(name, missing):
    """Modules are loaded when the first is asked for: programs without need not wait for them."""
    if name in _submodules(__name__):  # `from . import init` asks for the attribute first
        return import_module(f"{__name__}.{name}")
    found = _exported()
    if name in found:
        globals()[name] = found[name]
    return found.get(name, missing)


__getattr__ = _absent_names(__name__, _load)


def __dir__():
    return sorted({*globals(), *_exported()})
