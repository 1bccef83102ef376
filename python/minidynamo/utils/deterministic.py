"""torch.utils.deterministic: whether memory nobody has written is filled where deterministic results are asked for."""

import sys
import types

from .. import _determinism
from .._absent import absent_names as _absent_names


class _Settings(types.ModuleType):
    """The setting takes effect when it is assigned."""

    _fill = True

    @property
    def fill_uninitialized_memory(self):
        """True at first: torch.empty() and its kin give NaN, True or the largest integer in the deterministic mode."""
        return self._fill

    @fill_uninitialized_memory.setter
    def fill_uninitialized_memory(self, value):
        if not isinstance(value, bool):
            raise RuntimeError(f"fill_uninitialized_memory is a bool, not {type(value).__name__}")
        _Settings._fill = value
        _determinism.set_fill(value)


__getattr__ = _absent_names(__name__)
sys.modules[__name__].__class__ = _Settings
