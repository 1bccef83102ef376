"""torch.special: special functions, from the op table."""

from ._absent import absent_names as _absent_names
from ._C import _namespaces

globals().update(_namespaces["special"])
__all__ = sorted(_namespaces["special"])

__getattr__ = _absent_names(__name__)
