"""torch._inductor.config: how the reference generates code; kept for programs that set it, read by nothing here."""

from .._reference_settings import become as _become

_become(__name__, "_inductor.config")
