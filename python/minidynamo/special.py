"""torch.special: special functions, from the op table."""

from ._C import _namespaces

globals().update(_namespaces["special"])
__all__ = sorted(_namespaces["special"])
