"""torch.fx.experimental._config: how the reference reasons about sizes; kept for programs, read by nothing here."""

from ..._reference_settings import become as _become

_become(__name__, "fx.experimental._config")
