"""torch.backends.mha: whether attention layers may take a shorter way in evaluation; they have one way here."""

from .._absent import absent_names as _absent_names

_is_fastpath_enabled = True


def get_fastpath_enabled():
    """What set_fastpath_enabled set, True at first."""
    return _is_fastpath_enabled


def set_fastpath_enabled(value):
    """Holds the setting; results do not depend on it."""
    global _is_fastpath_enabled
    _is_fastpath_enabled = value


__getattr__ = _absent_names(__name__)
