"""torch.linalg: norms and products from the op table; what needs factorizations of matrices is loaded on demand.

LAPACK computes those, behind operators of their own (operators.py, decompositions.py): one node of a graph
each, with gradients of any order that are made of the same operators.
"""

from types import FunctionType

from .. import _C
from .._absent import absent_names as _absent_names
from .._C import _namespaces

globals().update(_namespaces["linalg"])
_HOMES = {
    "matrices": """
        cholesky cholesky_ex det diagonal inv inv_ex matrix_exp matrix_power pinv slogdet solve solve_ex
        solve_triangular tensorinv tensorsolve vander
    """,
    "spectra": "cond eig eigh eigvals eigvalsh matrix_norm matrix_rank norm qr svd svdvals",
    "factors": """
        householder_product ldl_factor ldl_factor_ex ldl_solve lstsq lu lu_factor lu_factor_ex lu_solve
    """,
}
_home_of = {name: home for home, names in _HOMES.items() for name in names.split()}
_table_norm, _table_matrix_norm = _namespaces["linalg"]["norm"], _namespaces["linalg"]["matrix_norm"]
del norm, matrix_norm, matrix_power  # noqa: F821  those here need singular values or inverses
__all__ = sorted({*_namespaces["linalg"], *_home_of, "LinAlgError"})


class LinAlgError(RuntimeError):
    """A matrix for which there is no result, as a Cholesky factor of one that is not positive definite."""

    __module__, __qualname__ = _C.__name__, "_LinAlgError"  # where torch has it, and pickles find it


LinAlgError.__name__ = "_LinAlgError"
_C._LinAlgError = LinAlgError


def _load(name, missing):
    from importlib import import_module

    if name not in _home_of:
        return missing
    found = getattr(import_module("." + _home_of[name], __name__), name)
    if isinstance(found, FunctionType):
        found = _C._overridable(found)
    globals()[name] = found
    return found


__getattr__ = _absent_names(__name__, _load)
