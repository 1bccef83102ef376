"""torch.sparse: matrices of which few entries differ from 0, their products, sums and softmaxes."""

from math import inf as _inf

from .. import _C
from .. import _tensor_types as _types
from .._absent import absent_names as _absent_names
from . import products as _products
from . import rules as _rules
from .compressed import CompressedTensor as _CompressedTensor
from .compressed import sampled_addmm as sampled_addmm
from .coo import SparseTensor as _SparseTensor
from .coo import from_dense as _from_dense
from .coo import made as _made
from .coo import places as _places
from .invariants import check_sparse_tensor_invariants as check_sparse_tensor_invariants


def sparse_coo_tensor(
    indices=None,
    values=None,
    size=None,
    *,
    dtype=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
    check_invariants=None,
    is_coalesced=None,
):
    """The tensor with `values` of (entries, *dense sizes) at `indices` of (sparse dimensions, entries), 0 elsewhere.

    `size` is what the largest indices need by default; given alone, or in their place, there are no entries. Values in
    one place add up. Gradients flow to `values`. RuntimeError where the parts do not fit each other.
    """
    if pin_memory:
        raise RuntimeError("sparse tensors live in ordinary memory, not in pinned memory")
    if values is None:
        size = tuple(indices if size is None else size)
        indices = _C.zeros((len(size), 0), dtype=_C.int64, device=device)
        values = _C.zeros(0, dtype=dtype or _C.get_default_dtype(), device=device)
    values = _C.as_tensor(values, dtype=dtype, device=device)
    indices = _C.as_tensor(indices, device=values.device).to(_C.int64)
    if indices.dim() == 1:
        indices = indices.reshape(-1, 0) if indices.numel() == 0 else indices
    _check_parts(indices, values)
    if size is None:
        largest = indices.max(1).values + 1 if indices.numel() else indices.new_zeros(indices.shape[0])
        size = (*largest.tolist(), *values.shape[1:])
    size = tuple(size)
    _check_size(indices, values, size)
    if is_coalesced:
        _check_order(indices, size)
    if requires_grad:
        values = values.detach().requires_grad_()
    else:  # a tensor of its own: what is computed from a leaf is none, and requires_grad_() is not for the argument
        values = values.view_as(values) if values.requires_grad else values.detach()
    return _made(indices, values, size, bool(is_coalesced))


def _check_parts(indices, values):
    if indices.dim() != 2:
        raise RuntimeError(f"sparse_coo_tensor: indices must be a matrix, got {indices.dim()} dimensions")
    if values.dim() == 0 or values.shape[0] != indices.shape[1]:
        entries = values.shape[0] if values.dim() else 1
        raise RuntimeError(
            f"sparse_coo_tensor: indices and values must have as many entries, got {indices.shape[1]} and {entries}"
        )


def _check_size(indices, values, size):
    sparse = indices.shape[0]
    if len(size) != sparse + values.dim() - 1:
        raise RuntimeError(
            f"sparse_coo_tensor: a size of {len(size)} dimensions for {sparse} sparse and {values.dim() - 1} dense ones"
        )
    if tuple(values.shape[1:]) != size[sparse:]:
        raise RuntimeError(f"sparse_coo_tensor: values of sizes {tuple(values.shape)} do not fit the size {size}")
    for dim, (row, length) in enumerate(zip(indices, size)):
        if row.numel() and (row.min() < 0 or row.max() >= length):
            raise RuntimeError(f"sparse_coo_tensor: an index of dimension {dim} is outside of its size {length}")


def _check_order(indices, size):
    place = _places(indices, size)
    if not (place[1:] > place[:-1]).all():
        raise RuntimeError("sparse_coo_tensor: is_coalesced, but the indices are not in order, or come twice")


def legacy_tensor(dtype, *args, device=None):
    """What torch.sparse.FloatTensor(...) makes: of indices, values and a size, of sizes, or nothing."""
    if args and isinstance(args[0], _C.Tensor):
        return sparse_coo_tensor(*args, dtype=dtype, device=device)
    size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    return sparse_coo_tensor(tuple(size) or (0,), dtype=dtype, device=device)


def mm(mat1, mat2, reduce="sum"):
    """The product of two matrices, of which one at least is sparse; sparse if both are. Gradients flow to both."""
    if reduce != "sum":
        raise NotImplementedError(f"torch.sparse.mm: the reduction {reduce!r} is not supported, only 'sum'")
    if isinstance(mat1, _CompressedTensor) or isinstance(mat2, _CompressedTensor):
        return _C.mm(mat1, mat2)
    return _products.mm(mat1, mat2)


def spmm(input, mat2):
    """torch.mm: the matrices may be sparse."""
    return _C.mm(input, mat2)


def smm(input, mat):
    """The product of a sparse matrix and a dense one as a sparse tensor."""
    return _from_dense(_products.mm(input, mat))


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta * mat + alpha * (mat1 @ mat2), `mat1` sparse. Gradients flow to all three."""
    if isinstance(mat1, _CompressedTensor):
        return mat * beta + _C.mm(mat1, mat2) * alpha
    return _products.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sum(input, dim=None, dtype=None):
    """The sum of a sparse tensor over all elements, dense; over some dimensions sparse."""
    return _rules.sum(input, dim, dtype=dtype)


def spdiags(diagonals, offsets, shape, layout=None):
    """The matrix of these sizes with row i of `diagonals` on the diagonal offsets[i], element j of it in column j."""
    diagonals, offsets = _C.atleast_2d(diagonals), _C.atleast_1d(offsets)
    if diagonals.shape[0] != offsets.shape[0] or len(set(offsets.tolist())) != offsets.shape[0]:
        raise RuntimeError("spdiags: as many different offsets as rows of diagonals are needed")
    columns = _C.arange(diagonals.shape[1], device=diagonals.device).expand(diagonals.shape)
    rows = columns - offsets.to(diagonals.device).reshape(-1, 1)
    there = (rows >= 0) & (rows < shape[0]) & (columns < shape[1])
    made = _made(_C.stack([rows[there], columns[there]]), diagonals[there], tuple(shape), False)
    return made if layout is None else made.to_sparse(layout=layout)


def softmax(input, dim, *, dtype=None):
    """Softmax along `dim` over the entries there are: the others count as -inf. A coalesced tensor."""
    return _softmax(input, dim, dtype, lambda shifted, total: shifted.exp() / total)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of softmax()."""
    return _softmax(input, dim, dtype, lambda shifted, total: shifted - total.log())


def _softmax(input, dim, dtype, finish):
    if not isinstance(input, _SparseTensor):
        raise RuntimeError("torch.sparse.softmax: a sparse tensor is needed; torch.softmax is for dense ones")
    tensor, dim = input.coalesce(), dim % input.dim()
    indices, values = tensor._indices(), tensor._values() if dtype is None else tensor._values().to(dtype)
    if dim >= tensor.sparse_dim():
        along = dim - tensor.sparse_dim() + 1
        shifted = values - values.detach().amax(along, keepdim=True)
        return _made(indices, finish(shifted, shifted.exp().sum(along, keepdim=True)), tuple(tensor.shape), True)
    kept = [d for d in range(tensor.sparse_dim()) if d != dim]
    groups, group = _C.unique(_places(indices[kept], [tensor.shape[d] for d in kept]), sorted=True, return_inverse=True)
    shape = (groups.shape[0], *values.shape[1:])
    at = group.reshape(-1, *[1] * (values.dim() - 1)).expand(values.shape)
    largest = values.new_full(shape, -_inf).scatter_reduce(0, at, values.detach(), "amax")
    shifted = values - largest.index_select(0, group)
    total = values.new_zeros(shape).index_add(0, group, shifted.exp())
    return _made(indices, finish(shifted, total.index_select(0, group)), tuple(tensor.shape), True)


_types.tensortype.make_sparse = staticmethod(legacy_tensor)


def _load(name, missing):
    return _types.sparse_types.get(name, missing)


__getattr__ = _absent_names(__name__, _load)
