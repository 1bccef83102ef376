"""torch.linalg: norms and vector products, from the op table."""

from ._C import _namespaces

globals().update(_namespaces["linalg"])
__all__ = sorted(_namespaces["linalg"])
