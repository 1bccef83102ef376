"""Products of sparse matrices with dense ones, and with each other."""

from .. import _C
from .coo import SparseTensor, coalesced, rules


def _is_sparse(tensor):
    return isinstance(tensor, SparseTensor)


def _check(a, b, dims):
    if a.dim() != 2 or b.dim() != dims:
        raise RuntimeError(f"mm: matrices are needed, got tensors of {a.dim()} and {b.dim()} dimensions")
    if a.shape[1] != b.shape[0]:
        shapes = f"{a.shape[0]}x{a.shape[1]} and {'x'.join(map(str, b.shape))}"
        raise RuntimeError(f"mm: shapes cannot be multiplied ({shapes})")
    if a.dtype != b.dtype:
        raise RuntimeError(f"mm: operands of one dtype are needed, got {a.dtype} and {b.dtype}")
    for tensor in (a, b):
        if _is_sparse(tensor) and tensor.dense_dim():
            raise RuntimeError("mm: all dimensions of a sparse matrix have to be sparse")


def _by_dense(a, b):
    """(rows, columns), sparse, times (columns, ...), dense: each entry adds its multiple of a row of `b` to a row."""
    rows, columns = a._indices()
    values = a._values()
    scaled = b.index_select(0, columns) * (values.unsqueeze(1) if b.dim() == 2 else values)
    return b.new_zeros((a.shape[0], *b.shape[1:])).index_add(0, rows, scaled)


def _by_sparse(a, b):
    """Both sparse: every entry of `a` meets the entries of one row of `b`."""
    a, b = a.coalesce(), b.coalesce()
    (rows, inner), (b_rows, b_columns) = a._indices(), b._indices()
    counts = _C.bincount(b_rows, minlength=b.shape[0])
    starts = _C.cumsum(counts, 0) - counts
    met = counts[inner]
    of_a = _C.repeat_interleave(_C.arange(rows.shape[0], device=rows.device), met)
    before = _C.repeat_interleave(_C.cumsum(met, 0) - met, met)
    of_b = starts[inner][of_a] + _C.arange(of_a.shape[0], device=rows.device) - before
    indices = _C.stack([rows[of_a], b_columns[of_b]])
    return coalesced(indices, a._values()[of_a] * b._values()[of_b], (a.shape[0], b.shape[1]))


def mm(input, mat2, *, out=None, out_dtype=None):
    """The product of two matrices, of which one at least is sparse; sparse if both are."""
    if out is not None or out_dtype is not None:
        raise NotImplementedError("mm of sparse tensors: out and out_dtype are not supported")
    _check(input, mat2, 2)
    if not _is_sparse(input):
        return _by_dense(mat2.t(), input.t()).t()
    return _by_sparse(input, mat2) if _is_sparse(mat2) else _by_dense(input, mat2)


def mv(input, vec, *, out=None):
    """The product of a sparse matrix and a dense vector."""
    if out is not None or not _is_sparse(input) or _is_sparse(vec):
        raise NotImplementedError("mv: a sparse matrix and a dense vector are needed, without out")
    _check(input, vec, 1)
    return _by_dense(input, vec)


def matmul(input, other, *, out=None):
    """mm or mv, as the dimensions are."""
    if input.dim() == 1 and other.dim() == 2 and not _is_sparse(input):
        return mv(other.t(), input, out=out)
    return mv(input, other, out=out) if other.dim() == 1 else mm(input, other, out=out)


def addmm(mat, mat1, mat2, *, beta=1, alpha=1, out=None):
    """beta * mat + alpha * (mat1 @ mat2), `mat1` sparse."""
    product = mm(mat1, mat2, out=out)
    return mat * beta + product * alpha


def linear(input, weight, bias=None):
    """input @ weight.T + bias, either of the matrices sparse."""
    product = mm(input, weight.t())
    return product if bias is None else product + bias


def bmm(input, mat2, *, out=None):
    """Products of a batch of sparse matrices with a batch of dense ones."""
    if out is not None or not _is_sparse(input) or _is_sparse(mat2):
        raise NotImplementedError("bmm: sparse matrices and dense ones are needed, without out")
    if input.dim() != 3 or mat2.dim() != 3 or input.shape[0] != mat2.shape[0]:
        raise RuntimeError(f"bmm: batches of matrices are needed, got {tuple(input.shape)} and {tuple(mat2.shape)}")
    return _C.stack([mm(input.select(0, index), mat2[index]) for index in range(input.shape[0])])


rules |= {"mm": mm, "mv": mv, "matmul": matmul, "bmm": bmm, "linear": linear, "addmm": addmm}
