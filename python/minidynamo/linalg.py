"""torch.linalg: norms and vector products, from the op table."""

from ._absent import absent_names as _absent_names
from ._C import _namespaces

globals().update(_namespaces["linalg"])
__all__ = sorted(_namespaces["linalg"])

__getattr__ = _absent_names(__name__)
