"""torch.nn for inference: modules, and functions in `functional`."""

from importlib import import_module

from .. import _C
from .._dynamo.callables import module_makers
from . import functional as functional


def _exported():
    exported = _C._call_unhooked(import_module, (".exported", __name__), {})
    return {k: v for k, v in vars(exported).items() if not k.startswith("_")}


# Importing is nothing to compile: as `disable` would mark it, which is not there yet.
_exported._torchdynamo_disable = True
_exported._torchdynamo_disable_msg = None
_C._mark_skip(_exported.__code__, False)


def _compiled(module, options):
    from .compiled_module import OptimizedModule

    return OptimizedModule(module._orig_mod if isinstance(module, OptimizedModule) else module, options)


module_makers.compiled = _compiled


def __getattr__(name):
    """Modules are loaded when the first is asked for: programs without need not wait for them."""
    if not name.startswith("__"):
        found = _exported()
        if name in found:
            globals()[name] = found[name]
            return found[name]
    raise AttributeError(
        f"module 'minidynamo.nn' has no attribute '{name}' (torch.nn.{name} is not part of minidynamo)"
    )


def __dir__():
    return sorted({*globals(), *_exported()})
