"""Modules without values."""

import inspect

from ..._absent import absent_names as _absent_names
from ..module import Module


def skip_init(module_cls, *args, **kwargs):
    """module_cls(*args, **kwargs) whose parameters and buffers nobody has written. Raises RuntimeError for what is no
    class of modules, or takes no `device`."""
    if not isinstance(module_cls, type) or not issubclass(module_cls, Module):
        raise RuntimeError(f"skip_init() takes a class of modules; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError(f"{module_cls.__name__} takes no `device`, as skip_init() needs")
    device = kwargs.pop("device", "cpu")
    return module_cls(*args, **kwargs, device="meta").to_empty(device=device)


__getattr__ = _absent_names(__name__)
