"""torch._inductor: the reference's code generator. LLVM makes the code here; what programs set is kept."""

from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules


def list_options():
    """Names that torch.compile(options=...) takes."""
    from .._reference_settings import table

    return list(table("_inductor.config"))


def list_mode_options(mode=None, dynamic=None):
    """Options that a mode stands for; of all modes without one."""
    from .._reference_settings import table

    modes = {name: dict(options) for name, options in table("modes").items()}
    return modes if mode is None else modes.get(mode, {})


def compile(gm, example_inputs, options=None):
    """The graph module compiled, for inputs like these."""
    from .._dynamo import compile as compiled

    return compiled(gm, options=options)


def cudagraph_mark_step_begin():
    """Nothing: there are no graphs of an accelerator whose memory a new step takes over."""


def _load(name, missing):
    return import_module(f"{__name__}.{name}") if name in _submodules(__name__) else missing


__getattr__ = _absent_names(__name__, _load)
