"""torch.linalg: norms and vector products, from the op table."""

from ._absent import absent_names as _absent_names
from ._C import _namespaces

globals().update(_namespaces["linalg"])
__all__ = sorted(_namespaces["linalg"])


class LinAlgError(RuntimeError):
    """A matrix for which there is no result, as a Cholesky factor of one that is not positive definite."""


__getattr__ = _absent_names(__name__)
