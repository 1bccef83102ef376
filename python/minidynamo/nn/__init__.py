"""torch.nn for inference: modules, and functions in `functional`."""

from importlib import import_module
from importlib.util import find_spec

from .. import _C
from .._dynamo.callables import module_makers
from . import functional as functional


def _loaded_submodule(name):
    """The module of this package that has the name, or None. `from . import init` asks for the attribute first."""
    path = f"{__name__}.{name}"
    return import_module(path) if find_spec(path) is not None else None


def _submodule(name):
    return _C._call_unhooked(_loaded_submodule, (name,), {})


def _exported():
    exported = _C._call_unhooked(import_module, (".exported", __name__), {})
    return {k: v for k, v in vars(exported).items() if not k.startswith("_")}


# Importing is nothing to compile: as `disable` would mark it, which is not there yet.
for _loads in (_exported, _submodule):
    _loads._torchdynamo_disable = True
    _loads._torchdynamo_disable_msg = None
    _C._mark_skip(_loads.__code__, False)


def _compiled(module, options):
    from .compiled_module import OptimizedModule

    return OptimizedModule(module._orig_mod if isinstance(module, OptimizedModule) else module, options)


module_makers.compiled = _compiled


def __getattr__(name):
    """Modules are loaded when the first is asked for: programs without need not wait for them."""
    if not name.startswith("__"):
        submodule = _submodule(name)
        if submodule is not None:
            return submodule
        found = _exported()
        if name in found:
            globals()[name] = found[name]
            return found[name]
    raise AttributeError(
        f"module 'minidynamo.nn' has no attribute '{name}' (torch.nn.{name} is not part of minidynamo)"
    )


def __dir__():
    return sorted({*globals(), *_exported()})
