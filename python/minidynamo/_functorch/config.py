"""torch._functorch.config: how the reference splits graphs for gradients; kept for programs, read by nothing here."""

from .._reference_settings import become as _become

_become(__name__, "_functorch.config")
