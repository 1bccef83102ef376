"""Sparse matrices with compressed rows or columns: the layouts sparse_csr, sparse_csc, sparse_bsr and sparse_bsc.

Such a tensor carries the values, where each row (column) begins among them, and the column (row) of each. In the
blocked layouts a value is a matrix of `blocksize`. Gradients flow through values.
"""

from .. import _C
from .._tensors_of_parts import TensorOfParts, gradient_facts, of_parts, part_text, with_facts
from . import coo
from .coo import _Layout
from .invariants import check_sparse_tensor_invariants

sparse_csr, sparse_csc = _Layout("sparse_csr"), _Layout("sparse_csc")
sparse_bsr, sparse_bsc = _Layout("sparse_bsr"), _Layout("sparse_bsc")
_BY_ROWS, _BLOCKED = (sparse_csr, sparse_bsr), (sparse_bsr, sparse_bsc)
_TRANSPOSED = {sparse_csr: sparse_csc, sparse_csc: sparse_csr, sparse_bsr: sparse_bsc, sparse_bsc: sparse_bsr}


class CompressedTensor(TensorOfParts):
    """A tensor of one of the compressed layouts; made by sparse_csr_tensor() and its kin and Tensor.to_sparse_csr()."""

    _kind = "compressed sparse"
    _rules = {}

    layout = property(lambda self: self._layout)
    is_sparse_csr = property(lambda self: self._layout is sparse_csr)
    T = property(lambda self: _transpose(self, 0, 1))

    @property
    def grad(self):
        """The gradient at the entries there are; None before backward()."""
        grad = self._parts[0].grad
        return None if grad is None else _with_values(self, grad)

    @grad.setter
    def grad(self, value):
        self._parts[0].grad = None if value is None else value._parts[0]

    def values(self):
        return self._parts[0]

    def _need(self, by_rows, what):
        if (self._layout in _BY_ROWS) != by_rows:
            raise RuntimeError(f"{what}() is not for the layout {self._layout}")

    def crow_indices(self):
        """Where each row begins among the values."""
        self._need(True, "crow_indices")
        return self._parts[1]

    def col_indices(self):
        """The column of each value."""
        self._need(True, "col_indices")
        return self._parts[2]

    def ccol_indices(self):
        """Where each column begins among the values."""
        self._need(False, "ccol_indices")
        return self._parts[1]

    def row_indices(self):
        """The row of each value."""
        self._need(False, "row_indices")
        return self._parts[2]

    def indices(self):
        raise RuntimeError(f"indices() is for the layout torch.sparse_coo, not for {self._layout}")

    is_coalesced = coalesce = _indices = _values = indices

    def _nnz(self):
        return self._parts[0].shape[0]

    def sparse_dim(self):
        return 2

    def dense_dim(self):
        return self._parts[0].dim() - (3 if self._layout in _BLOCKED else 1)

    def stride(self, dim=None):
        raise RuntimeError(f"a tensor of the layout {self._layout} has no strides")

    def to_sparse_coo(self):
        """The same entries given by their coordinates."""
        if self._layout in _BLOCKED:
            return coo.from_dense(self.to_dense())
        return coo.made(_coordinates(self), self._parts[0], tuple(self.shape), self._layout is sparse_csr)

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """The same elements in another sparse layout, by coordinates unless one is named."""
        if layout is None or layout is coo.sparse_coo:
            return self.to_sparse_coo()
        return self if layout is self._layout else _between(self, layout, blocksize)

    def to_dense(self, dtype=None, *, masked_grad=None):
        """The dense tensor of the same elements."""
        values = self._parts[0]
        rows, columns = _coordinates(self)
        if self._layout not in _BLOCKED:
            flat = values.new_zeros((self.shape[0] * self.shape[1], *values.shape[1:]))
            return flat.index_add(0, rows * self.shape[1] + columns, values).reshape(tuple(self.shape))
        high, wide = values.shape[1:3]
        blocks = values.new_zeros((self.shape[0] // high * (self.shape[1] // wide), high, wide))
        blocks = blocks.index_add(0, rows * (self.shape[1] // wide) + columns, values)
        grid = blocks.reshape(self.shape[0] // high, self.shape[1] // wide, high, wide)
        return grid.permute(0, 2, 1, 3).reshape(tuple(self.shape))

    def to_sparse_csr(self, dense_dim=None):
        return self.to_sparse(layout=sparse_csr)

    def to_sparse_csc(self, dense_dim=None):
        return self.to_sparse(layout=sparse_csc)

    def to_sparse_bsr(self, blocksize, dense_dim=None):
        return _between(self, sparse_bsr, blocksize)

    def to_sparse_bsc(self, blocksize, dense_dim=None):
        return _between(self, sparse_bsc, blocksize)

    def __reduce__(self):
        return _rebuilt, (self._layout._name, self._parts[0].detach(), *self._parts[1:], tuple(self.shape))

    def __reduce_ex__(self, protocol):
        return self.__reduce__()

    def __deepcopy__(self, memo):
        memo[id(self)] = copied = _clone(self)
        return copied

    def _text(self):
        first, second = ("crow", "col") if self._layout in _BY_ROWS else ("ccol", "row")
        values, starts, others = self._parts
        lines = [part_text(f"{first}_indices", starts), part_text(f"{second}_indices", others)]
        text = "tensor(" + ",\n       ".join([*lines, part_text("values", values)])
        facts = [f"size={tuple(self.shape)}", f"nnz={self._nnz()}"]
        if self.dtype not in (_C.get_default_dtype(), _C.int64, _C.bool):
            facts.append(f"dtype={self.dtype}")
        return with_facts(text, [*facts, f"layout={self._layout}", *gradient_facts(self)])


def _made(layout, values, starts, others, sizes):
    tensor = of_parts(CompressedTensor, (values, starts, others), sizes, values.dtype)
    tensor._layout = layout
    return tensor


def _rebuilt(layout, values, starts, others, sizes):
    """What pickle calls."""
    return _made(next(each for each in _TRANSPOSED if each._name == layout), values, starts, others, sizes)


def _with_values(tensor, values):
    return _made(tensor._layout, values, *tensor._parts[1:], tuple(tensor.shape))


def _clone(tensor, **kwargs):
    values, starts, others = (part.clone() for part in tensor._parts)
    return _made(tensor._layout, values, starts, others, tuple(tensor.shape))


def _coordinates(tensor):
    """Rows and columns of all values, or of all blocks."""
    _, starts, others = tensor._parts
    counts = starts[1:] - starts[:-1]
    along = _C.repeat_interleave(_C.arange(counts.shape[0], device=counts.device), counts)
    return _C.stack([along, others] if tensor._layout in _BY_ROWS else [others, along])


def _compress(layout, rows, columns, values, sizes):
    """The tensor with these entries (or blocks), in any order; `sizes` counts rows and columns of them."""
    along, other = (rows, columns) if layout in _BY_ROWS else (columns, rows)
    lines, across = sizes if layout in _BY_ROWS else sizes[::-1]
    order = _C.argsort(along * max(across, 1) + other)
    starts = along.new_zeros(lines + 1)
    starts[1:] = _C.bincount(along, minlength=lines).cumsum(0)
    return values.index_select(0, order), starts, other.index_select(0, order)


def from_dense(tensor, layout, blocksize=None):
    """The entries of a dense matrix that differ from 0, or the blocks with such entries."""
    if layout not in _TRANSPOSED:
        raise NotImplementedError(f"to_sparse(): {layout} is no sparse layout")
    if tensor.dim() != 2:
        raise RuntimeError(f"{layout}: a matrix is needed, got a tensor of {tensor.dim()} dimensions")
    if layout not in _BLOCKED:
        rows, columns = (tensor.detach() != 0).nonzero().unbind(1)
        parts = _compress(layout, rows, columns, tensor[rows, columns], tuple(tensor.shape))
        return _made(layout, *parts, tuple(tensor.shape))
    if blocksize is None or len(blocksize) != 2 or min(blocksize) < 1:
        raise RuntimeError(f"{layout}: a blocksize of two positive numbers is needed, got {blocksize}")
    high, wide = blocksize
    if tensor.shape[0] % high or tensor.shape[1] % wide:
        raise RuntimeError(
            f"{layout}: sizes {tuple(tensor.shape)} are no multiples of the blocksize {tuple(blocksize)}"
        )
    grid = tensor.reshape(tensor.shape[0] // high, high, tensor.shape[1] // wide, wide).permute(0, 2, 1, 3)
    rows, columns = (grid.detach() != 0).flatten(2).any(-1).nonzero().unbind(1)
    parts = _compress(layout, rows, columns, grid[rows, columns], tuple(grid.shape[:2]))
    return _made(layout, *parts, tuple(tensor.shape))


def from_coordinates(tensor, layout, blocksize=None):
    """A sparse tensor given by coordinates in a compressed layout."""
    if layout in _BLOCKED or tensor.dense_dim():
        return from_dense(tensor.to_dense(), layout, blocksize)
    if tensor.dim() != 2:
        raise RuntimeError(f"{layout}: a matrix is needed, got a tensor of {tensor.dim()} dimensions")
    tensor = tensor.coalesce()
    rows, columns = tensor._indices()
    sizes = tuple(tensor.shape)
    return _made(layout, *_compress(layout, rows, columns, tensor._values(), sizes), sizes)


def _between(tensor, layout, blocksize=None):
    if tensor._layout in _BLOCKED and layout not in _BLOCKED:
        raise RuntimeError(f"conversion from {tensor._layout} to {layout} is not supported; use to_dense()")
    if layout in _BLOCKED:
        return from_dense(tensor.to_dense(), layout, blocksize)
    rows, columns = _coordinates(tensor)
    sizes = tuple(tensor.shape)
    return _made(layout, *_compress(layout, rows, columns, tensor._parts[0], sizes), sizes)


def _constructor(layout):
    by_rows, blocked = layout in _BY_ROWS, layout in _BLOCKED
    names = ("crow_indices", "col_indices") if by_rows else ("ccol_indices", "row_indices")

    def make(starts, others, values, size=None, *, dtype=None, device=None, pin_memory=False, requires_grad=False,
             check_invariants=None):  # fmt: skip
        values = _C.as_tensor(values, dtype=dtype, device=device)
        starts, others = (_C.as_tensor(t, device=values.device) for t in (starts, others))
        starts, others = (t if t.dtype == _C.int32 else t.to(_C.int64) for t in (starts, others))
        if values.requires_grad and not requires_grad:
            values = values.view_as(values)
        else:
            values = values.detach().requires_grad_(requires_grad)
        block = tuple(values.shape[1:3]) if blocked else (1, 1)
        if starts.dim() != 1 or others.dim() != 1:
            raise RuntimeError(f"{layout}: {names[0]} and {names[1]} of one dimension are needed")
        if size is None:
            across = int(others.max()) + 1 if others.numel() else 0
            lines = starts.shape[0] - 1
            size = (lines, across) if by_rows else (across, lines)
            size = (size[0] * block[0], size[1] * block[1], *values.shape[3 if blocked else 1 :])
        if _checks(check_invariants):
            _check(layout, starts, others, values, size, block)
        return _made(layout, values, starts, others, tuple(size))

    return make


def _checks(asked):
    return check_sparse_tensor_invariants.is_enabled() if asked is None else asked


def _check(layout, starts, others, values, size, block):
    lines = size[0] // block[0] if layout in _BY_ROWS else size[1] // block[1]
    across = size[1] // block[1] if layout in _BY_ROWS else size[0] // block[0]
    if starts.shape[0] != lines + 1 or starts[0] != 0 or starts[-1] != others.shape[0]:
        raise RuntimeError(f"{layout}: the compressed indices must lead from 0 to {others.shape[0]} in {lines} steps")
    if others.numel() and (others.min() < 0 or others.max() >= across):
        raise RuntimeError(f"{layout}: an index is outside of {across}")
    if values.shape[0] != others.shape[0]:
        raise RuntimeError(f"{layout}: {others.shape[0]} values are needed, got {values.shape[0]}")


_make = {layout: _constructor(layout) for layout in _TRANSPOSED}


def sparse_csr_tensor(crow_indices, col_indices, values, size=None, **kwargs):
    """The matrix whose row i has values[crow_indices[i]:crow_indices[i + 1]] in the columns `col_indices` of these."""
    return _make[sparse_csr](crow_indices, col_indices, values, size, **kwargs)


def sparse_csc_tensor(ccol_indices, row_indices, values, size=None, **kwargs):
    """As sparse_csr_tensor() with rows and columns exchanged."""
    return _make[sparse_csc](ccol_indices, row_indices, values, size, **kwargs)


def sparse_bsr_tensor(crow_indices, col_indices, values, size=None, **kwargs):
    """As sparse_csr_tensor() with matrices for values."""
    return _make[sparse_bsr](crow_indices, col_indices, values, size, **kwargs)


def sparse_bsc_tensor(ccol_indices, row_indices, values, size=None, **kwargs):
    """As sparse_csc_tensor() with matrices for values."""
    return _make[sparse_bsc](ccol_indices, row_indices, values, size, **kwargs)


def sparse_compressed_tensor(compressed_indices, plain_indices, values, size=None, *, layout=None, **kwargs):
    """A tensor of the compressed layout that is named."""
    if layout not in _make:
        raise RuntimeError(f"sparse_compressed_tensor: a compressed layout is needed, not {layout}")
    return _make[layout](compressed_indices, plain_indices, values, size, **kwargs)


def _transpose(input, dim0, dim1):
    if {dim0 % 2, dim1 % 2} == {0}:
        return input
    values, starts, others = input._parts
    if input._layout in _BLOCKED:
        values = values.transpose(1, 2)
    return _made(_TRANSPOSED[input._layout], values, starts, others, (input.shape[1], input.shape[0]))


def _by_coordinates(tensor):
    return tensor.to_sparse_coo() if isinstance(tensor, CompressedTensor) else tensor


def _product(name):
    """A product by coordinates; compressed again if it is sparse."""

    def rule(*args, **kwargs):
        layout = next((a._layout for a in args if isinstance(a, CompressedTensor)), None)
        result = coo.rules[name](*[_by_coordinates(a) for a in args], **kwargs)
        return from_coordinates(result, layout) if isinstance(result, coo.SparseTensor) else result

    return rule


def _is_number(value):
    return isinstance(value, (int, float)) or (type(value) is _C.Tensor and value.dim() == 0)


def _mul(input, other):
    if not isinstance(input, CompressedTensor):
        input, other = other, input
    if _is_number(other):
        return _with_values(input, input._parts[0] * other)
    product = coo.rules["mul"](_by_coordinates(input), _by_coordinates(other))
    return from_coordinates(product, input._layout)


def _div(input, other, *, rounding_mode=None):
    if not isinstance(input, CompressedTensor) or not _is_number(other):
        raise NotImplementedError("div: a sparse tensor can be divided by a number; use to_dense()")
    return _with_values(input, _C.div(input._parts[0], other, rounding_mode=rounding_mode))


def _add(input, other, *, alpha=1):
    if not isinstance(input, CompressedTensor):
        return coo.rules["add"](input, _by_coordinates(other), alpha=alpha)
    if not isinstance(other, CompressedTensor):
        return _C.add(other * alpha, input.to_dense())
    total = coo.rules["add"](_by_coordinates(input), _by_coordinates(other), alpha=alpha)
    return from_coordinates(total, input._layout)


def _sum(input, dim=None, keepdim=False, *, dtype=None):
    if dim is None:
        return input._parts[0].sum(dtype=dtype)
    if not keepdim:
        raise RuntimeError("sum of a compressed sparse tensor over a dimension needs keepdim=True")
    return from_dense(input.to_dense().sum(dim, keepdim=True, dtype=dtype), input._layout)


def _select(input, dim, index):
    return coo.rules["select"](_by_coordinates(input), dim, index)


def _getitem(input, index):
    for position in index if isinstance(index, tuple) else (index,):
        if not isinstance(position, int):
            raise NotImplementedError("indexing of sparse tensors: only ints are supported; use to_dense()")
        input = input[position] if not isinstance(input, CompressedTensor) else _select(input, 0, position)
    return input


def _entrywise(name):
    function = getattr(_C, name)
    return lambda input, *args, **kwargs: _with_values(input, function(input._parts[0], *args, **kwargs))


def _to(input, *args, **kwargs):
    values = input._parts[0].to(*args, **kwargs)
    starts, others = (part.to(values.device) for part in input._parts[1:])
    return _made(input._layout, values, starts, others, tuple(input.shape))


def _zeros_like(input, **kwargs):
    values, starts, others = input._parts
    return _made(input._layout, values[:0].detach(), _C.zeros_like(starts), others[:0], tuple(input.shape))


def _zero(input):
    input._parts = _zeros_like(input)._parts
    return input


def _requires_grad(input, requires_grad=True):
    input._parts[0].requires_grad_(requires_grad)
    return input


def _refuse(input, *args, **kwargs):
    raise RuntimeError(f"tensors of the layout {input._layout} have no such operation; use to_dense()")


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0, out=None):
    """beta * input + alpha * (mat1 @ mat2) at the entries of `input`, a tensor of compressed rows."""
    if not isinstance(input, CompressedTensor) or input._layout is not sparse_csr:
        raise RuntimeError("sampled_addmm: the input has to be of the layout torch.sparse_csr")
    rows, columns = _coordinates(input)
    products = (mat1.index_select(0, rows) * mat2.index_select(1, columns).t()).sum(-1)
    return _with_values(input, input._parts[0] * beta + products * alpha)


rules = CompressedTensor._rules
for _name in (
    "abs asin asinh atan atanh ceil erf erfinv expm1 floor frac isinf isnan isneginf isposinf log1p neg rad2deg "
    "deg2rad relu round sgn sign sin sinh sqrt tan tanh trunc square angle"
).split():
    if hasattr(_C, _name):
        rules[_name] = _entrywise(_name)
rules |= {name: _product(name) for name in ("mm", "mv", "matmul", "addmm", "linear")}
rules |= {"mul": _mul, "multiply": _mul, "div": _div, "true_divide": _div, "add": _add, "sum": _sum}
rules |= {"t": lambda input: _transpose(input, 0, 1), "transpose": _transpose, "select": _select}
rules |= {"__getitem__": _getitem, "clone": _clone, "to": _to, "zeros_like": _zeros_like, "empty_like": _zeros_like}
rules |= {"detach": lambda input: _with_values(input, input._parts[0].detach()), "requires_grad_": _requires_grad}
rules |= {"zero_": _zero, "is_tensor": lambda obj: True, "cpu": lambda input, *args, **kwargs: _to(input, "cpu")}
rules["cuda"] = lambda input, device="cuda", **kwargs: _to(input, device)
rules |= {
    "fill_": _refuse,
    "view": _refuse,
    "reshape": _refuse,
    "unsqueeze": _refuse,
    "eq": _refuse,
    "sub": lambda input, other, *, alpha=1: _add(input, other, alpha=-alpha),
    "double": lambda input: _to(input, _C.float64),
    "float": lambda input: _to(input, _C.float32),
    "half": lambda input: _to(input, _C.float16),
    "long": lambda input: _to(input, _C.int64),
    "int": lambda input: _to(input, _C.int32),
}
coo.rules["to_layout"] = from_coordinates
