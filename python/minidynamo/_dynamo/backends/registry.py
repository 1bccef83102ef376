"""Names of backends. A backend is a callable `(GraphModule, example_inputs) -> callable`."""

import functools

from ..._absent import absent_names as _absent_names
from ..eval_frame import list_backends as list_backends
from ..eval_frame import lookup_backend as lookup_backend
from ..eval_frame import register_backend as register_backend

__all__ = [
    "list_backends",
    "lookup_backend",
    "register_backend",
    "register_debug_backend",
    "register_experimental_backend",
]

register_debug_backend = functools.partial(register_backend, tags=("debug",))
register_experimental_backend = functools.partial(register_backend, tags=("experimental",))

__getattr__ = _absent_names(__name__)
