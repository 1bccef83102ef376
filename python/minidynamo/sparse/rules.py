"""What ops other than products do with sparse tensors: with their values, where zeros stay zeros, or their places."""

import math

from .. import _C
from .coo import SparseTensor, made, places, rules

# f(0) = 0: only the entries change.
_ENTRYWISE = """
abs absolute asin arcsin asinh arcsinh atan arctan atanh arctanh ceil deg2rad erf erfinv expm1 floor frac isinf isnan
isneginf isposinf log1p nan_to_num rad2deg relu round sgn sign signbit sin sinh sqrt square tan tanh trunc
""".split()
_CASTS = {
    "double": _C.float64,
    "float": _C.float32,
    "half": _C.float16,
    "bfloat16": _C.bfloat16,
    "long": _C.int64,
    "int": _C.int32,
    "short": _C.int16,
    "char": _C.int8,
    "byte": _C.uint8,
    "bool": _C.bool,
}


def _with_values(tensor, values):
    """The same places with other values."""
    return made(tensor._indices(), values, tuple(tensor.shape), tensor.is_coalesced())


def _is_sparse(value):
    return isinstance(value, SparseTensor)


def _is_number(value):
    return isinstance(value, (int, float)) or (
        isinstance(value, _C.Tensor) and not _is_sparse(value) and value.dim() == 0
    )


def _entrywise(name):
    function = getattr(_C, name)

    def rule(input, *args, **kwargs):
        tensor = input.coalesce()
        return _with_values(tensor, function(tensor._values(), *args, **kwargs))

    return rule


def _pow(input, exponent):
    if _is_sparse(exponent) or not _is_number(exponent) or not exponent > 0:
        raise NotImplementedError("pow of sparse tensors: the exponent has to be a number above 0")
    tensor = input.coalesce()
    return _with_values(tensor, tensor._values() ** exponent)


def _neg(input):
    return _with_values(input, -input._values())


def _same_sizes(a, b, name):
    if tuple(a.shape) != tuple(b.shape):
        raise RuntimeError(f"{name}: sparse tensors do not broadcast, got {tuple(a.shape)} and {tuple(b.shape)}")


def _both(a, b, combine):
    """What two sparse tensors have in common: the places both have an entry in."""
    a, b = a.coalesce(), b.coalesce()
    if a.sparse_dim() != b.sparse_dim():
        raise RuntimeError("mul: both tensors need the same number of sparse dimensions")
    sizes = tuple(a.shape)
    mine, other = (places(t._indices(), sizes[: a.sparse_dim()]) for t in (a, b))
    at = _C.searchsorted(other, mine).clamp(max=max(other.shape[0] - 1, 0))
    common = (other[at] == mine).nonzero().flatten() if other.shape[0] else mine.new_empty(0)
    values = combine(a._values()[common], b._values()[at[common]])
    return made(a._indices().index_select(1, common), values, sizes, True)


def _mul(input, other):
    if not _is_sparse(input):
        input, other = other, input
    if _is_number(other):
        return _with_values(input, input._values() * other)
    _same_sizes(input, other, "mul")
    if _is_sparse(other):
        return _both(input, other, lambda a, b: a * b)
    return _with_values(input, input._values() * other[tuple(input._indices())])


def _div(input, other, *, rounding_mode=None):
    if not _is_sparse(input) or not _is_number(other):
        raise NotImplementedError("div: a sparse tensor can be divided by a number; use to_dense()")
    tensor = input if rounding_mode is None else input.coalesce()
    return _with_values(tensor, _C.div(tensor._values(), other, rounding_mode=rounding_mode))


def _add(input, other, *, alpha=1):
    if not isinstance(other, _C.Tensor) or not isinstance(input, _C.Tensor):
        raise NotImplementedError("add: a number would fill a sparse tensor; use to_dense()")
    if not _is_sparse(other):
        raise RuntimeError("add: a sparse tensor cannot take a dense one; exchange them, or use to_dense()")
    _same_sizes(input, other, "add")
    if not _is_sparse(input):
        sparse = input.shape[: other.sparse_dim()]
        flat = input.reshape(math.prod(sparse), *input.shape[other.sparse_dim() :])
        added = flat.index_add(0, places(other._indices(), sparse), other._values().to(flat.dtype), alpha=alpha)
        return added.reshape(tuple(input.shape))
    if input.sparse_dim() != other.sparse_dim():
        raise RuntimeError("add: both tensors need the same number of sparse dimensions")
    if input._nnz() == other._nnz() and _C.equal(input._indices(), other._indices()):
        return _with_values(input, input._values() + other._values() * alpha)
    indices = _C.cat([input._indices(), other._indices()], 1)
    values = _C.cat([input._values(), other._values() * alpha])
    summed = made(indices, values, tuple(input.shape))
    return summed.coalesce() if input.is_coalesced() and other.is_coalesced() else summed


def _sub(input, other, *, alpha=1):
    if _is_sparse(input) and not _is_sparse(other):
        raise NotImplementedError("sub: a sparse tensor minus a dense one is dense; use to_dense()")
    return _add(input, other, alpha=-alpha)


def sum(input, dim=None, keepdim=False, *, dtype=None):
    """The sum over all elements, dense; over some dimensions sparse, unless all the sparse ones are among them."""
    values = input._values() if dtype is None else input._values().to(dtype)
    if dim is None or dim == ():
        return values.sum()
    if keepdim:
        raise NotImplementedError("sum of sparse tensors: keepdim is not supported")
    dims = {_wrapped(d, input.dim()) for d in ([dim] if isinstance(dim, int) else dim)}
    first_dense = input.sparse_dim()
    inner = [d - first_dense + 1 for d in dims if d >= first_dense]
    if inner:
        values = values.sum(inner)
    kept = [d for d in range(first_dense) if d not in dims]
    if not kept:
        return values.sum(0)
    sizes = tuple(size for d, size in enumerate(input.shape) if d not in dims)
    return made(input._indices()[kept], values, sizes, False).coalesce()


def _wrapped(dim, dims):
    if not -dims <= dim < dims:
        raise IndexError(f"dim {dim} is out of range for {dims} dimensions ({-dims} to {dims - 1})")
    return dim % dims


def _transpose(input, dim0, dim1):
    dim0, dim1 = _wrapped(dim0, input.dim()), _wrapped(dim1, input.dim())
    if dim0 == dim1:
        return input
    if max(dim0, dim1) >= input.sparse_dim():
        raise NotImplementedError("transpose: only sparse dimensions of a sparse tensor can be exchanged")
    order, sizes = list(range(input.sparse_dim())), list(input.shape)
    order[dim0], order[dim1] = order[dim1], order[dim0]
    sizes[dim0], sizes[dim1] = sizes[dim1], sizes[dim0]
    return made(input._indices()[order], input._values(), sizes, False)


def _t(input):
    if input.dim() > 2:
        raise RuntimeError(f"t: at most 2 dimensions are expected, got {input.dim()}")
    return input if input.dim() < 2 else _transpose(input, 0, 1)


def _flatten(input, start_dim=0, end_dim=-1):
    """As functional.linear calls it: of a matrix there is nothing to flatten."""
    if _wrapped(start_dim, input.dim()) != _wrapped(end_dim, input.dim()):
        raise NotImplementedError("flatten: dimensions of sparse tensors cannot be joined; use to_dense()")
    return input


def _index_select(input, dim, index):
    """Entries come as often as their index is asked for."""
    dim = _wrapped(dim, input.dim())
    sizes = list(input.shape)
    sizes[dim] = index.shape[0]
    if dim >= input.sparse_dim():
        values = input._values().index_select(dim - input.sparse_dim() + 1, index)
        return made(input._indices(), values, sizes, input.is_coalesced())
    if index.numel() and not (index.min() >= 0 and index.max() < input.shape[dim]):
        raise IndexError(f"index_select: an index is out of range for the size {input.shape[dim]}")
    wanted, entry = (index.reshape(-1, 1) == input._indices()[dim]).nonzero().unbind(1)
    indices = input._indices().index_select(1, entry)
    indices[dim] = wanted
    return made(indices, input._values().index_select(0, entry), sizes, False)


def _select(input, dim, index):
    dim = _wrapped(dim, input.dim())
    size = input.shape[dim]
    if not -size <= index < size:
        raise IndexError(f"select: index {index} is out of range for the size {size}")
    sizes = [s for d, s in enumerate(input.shape) if d != dim]
    if dim >= input.sparse_dim():
        values = input._values().select(dim - input.sparse_dim() + 1, index)
        return made(input._indices(), values, sizes, input.is_coalesced())
    entry = (input._indices()[dim] == index % size).nonzero().flatten()
    values = input._values().index_select(0, entry)
    kept = [d for d in range(input.sparse_dim()) if d != dim]
    return made(input._indices()[kept][:, entry], values, sizes, False) if kept else values.sum(0)


def _unbind(input, dim=0):
    return tuple([_select(input, dim, index) for index in range(input.shape[dim])])


def _getitem(input, index):
    for position in index if isinstance(index, tuple) else (index,):
        if isinstance(position, bool) or not isinstance(position, int):
            raise NotImplementedError("indexing of sparse tensors: only ints are supported; use to_dense()")
        input = input[position] if not _is_sparse(input) else _select(input, 0, position)
    return input


def _cat(tensors, dim=0):
    if not all(_is_sparse(t) for t in tensors):
        raise RuntimeError("cat: sparse tensors can only be joined with each other")
    dim, first = _wrapped(dim, tensors[0].dim()), tensors[0]
    if dim >= first.sparse_dim() or any(t.sparse_dim() != first.sparse_dim() for t in tensors):
        raise NotImplementedError("cat: sparse tensors are joined along a sparse dimension, all with as many of them")
    moved, end = [], 0
    for tensor in tensors:
        others = [size for d, size in enumerate(tensor.shape) if d != dim]
        if others != [size for d, size in enumerate(first.shape) if d != dim]:
            raise RuntimeError(f"cat: sizes differ in other dimensions than {dim}")
        indices = tensor._indices().clone()
        indices[dim] += end
        moved.append(indices)
        end += tensor.shape[dim]
    sizes = [end if d == dim else size for d, size in enumerate(first.shape)]
    return made(_C.cat(moved, 1), _C.cat([t._values() for t in tensors]), sizes, False)


def _unsqueeze(input, dim):
    dim = _wrapped(dim, input.dim() + 1)
    if dim > input.sparse_dim():
        raise NotImplementedError("unsqueeze: a sparse tensor can get a new dimension among its sparse ones")
    row = input._indices().new_zeros((1, input._nnz()))
    indices = _C.cat([input._indices()[:dim], row, input._indices()[dim:]])
    return made(indices, input._values(), [*input.shape[:dim], 1, *input.shape[dim:]], input.is_coalesced())


def _stack(tensors, dim=0):
    return _cat([_unsqueeze(tensor, dim) for tensor in tensors], dim)


def _to(input, *args, **kwargs):
    values = input._values().to(*[a._values() if _is_sparse(a) else a for a in args], **kwargs)
    if values is input._values():
        return input
    return made(input._indices().to(values.device), values, tuple(input.shape), input.is_coalesced())


def _cast(dtype):
    return lambda input, *args, **kwargs: _to(input, dtype)


def _requires_grad(input, requires_grad=True):
    input._values().requires_grad_(requires_grad)
    return input


def _zeros_like(input, *, dtype=None, layout=None, device=None, requires_grad=False):
    device = device or input.device
    values = _C.zeros((0, *input._values().shape[1:]), dtype=dtype or input.dtype, device=device)
    indices = _C.zeros((input.sparse_dim(), 0), dtype=_C.int64, device=device)
    return made(indices, values, tuple(input.shape), True)


def _copied(input, source, non_blocking=False):
    if not _is_sparse(source):
        raise RuntimeError("copy_(): a sparse tensor can take another sparse one; see to_sparse()")
    indices = source._indices().to(input.device, copy=True)
    values = source._values().to(input.device, input.dtype, copy=True)
    return made(indices, values, source.shape, source.is_coalesced())


def _permute(input, *dims):
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    order = [_wrapped(d, input.dim()) for d in dims]
    first_dense = input.sparse_dim()
    if sorted(order) != list(range(input.dim())) or sorted(order[:first_dense]) != list(range(first_dense)):
        raise RuntimeError("permute: sparse dimensions of a sparse tensor stay in front of dense ones")
    values = input._values().permute(0, *[d - first_dense + 1 for d in order[first_dense:]])
    sizes = [input.shape[d] for d in order]
    return made(input._indices()[order[:first_dense]], values, sizes, False)


def _masked_by(input, mask):
    """The elements of `input` in the places of `mask`; 0 where it has none."""
    if not _is_sparse(input):
        _same_sizes(input, mask, "sparse_mask")
        mask = mask.coalesce()
        return made(mask.indices(), input[tuple(mask.indices())], tuple(input.shape), True)
    input, mask = input.coalesce(), mask.coalesce()
    _same_sizes(input, mask, "sparse_mask")
    sizes = input.shape[: input.sparse_dim()]
    mine, wanted = places(input._indices(), sizes), places(mask._indices(), sizes)
    values = input._values().new_zeros((wanted.shape[0], *input._values().shape[1:]))
    if mine.shape[0]:
        at = _C.searchsorted(mine, wanted).clamp(max=mine.shape[0] - 1)
        there = (mine[at] == wanted).reshape(-1, *[1] * (values.dim() - 1))
        values = _C.where(there, input._values()[at], values)
    return made(mask._indices(), values, tuple(input.shape), True)


def _norm(input, p="fro", *args, **kwargs):
    if args or kwargs:
        raise NotImplementedError("norm of sparse tensors: only that over all elements is supported")
    return input.coalesce()._values().norm(p)


def _in_place(rule):
    """The op of the name with `_`: this tensor gets the parts of the result."""

    def write(input, *args, **kwargs):
        if input.requires_grad and input.is_leaf and _C.is_grad_enabled():
            raise RuntimeError("a sparse leaf that requires grad cannot be changed in-place, except within no_grad()")
        result = rule(input, *args, **kwargs)
        if not _is_sparse(input) and not _is_sparse(result):
            return input.copy_(result)
        if not _is_sparse(result):
            raise RuntimeError("the result of this op is dense, and cannot be written to a sparse tensor")
        input._parts, input._coalesced = result._parts, result._coalesced
        return input

    return write


rules |= {name: _entrywise(name) for name in _ENTRYWISE}
rules |= {name: _cast(dtype) for name, dtype in _CASTS.items()}
rules |= {"add": _add, "sub": _sub, "mul": _mul, "div": _div, "pow": _pow, "neg": _neg, "negative": _neg}
rules |= {"multiply": _mul, "divide": _div, "true_divide": _div, "subtract": _sub, "sum": sum, "norm": _norm}
rules |= {f"{name}_": _in_place(rules[name]) for name in ("add", "sub", "mul", "div", "neg", "abs", "sqrt", "relu")}
rules |= {
    "t": _t,
    "transpose": _transpose,
    "flatten": _flatten,
    "index_select": _index_select,
    "select": _select,
    "__getitem__": _getitem,
    "cat": _cat,
    "concat": _cat,
    "stack": _stack,
    "unsqueeze": _unsqueeze,
    "to": _to,
    "cpu": lambda input, *args, **kwargs: _to(input, "cpu"),
    "cuda": lambda input, device="cuda", **kwargs: _to(input, device),
    "type_as": lambda input, other: _to(input, other.dtype),
    "clone": lambda input, **kwargs: made(
        input._indices().clone(), input._values().clone(), tuple(input.shape), input.is_coalesced()
    ),
    "detach": lambda input: _with_values(input, input._values().detach()),
    "requires_grad_": _requires_grad,
    "unbind": _unbind,
    "is_tensor": lambda obj: True,
    "zeros_like": _zeros_like,
    "empty_like": _zeros_like,
    "zero_": _in_place(_zeros_like),
    "copy_": _in_place(_copied),
    "permute": _permute,
    "sparse_mask": _masked_by,
    "any": lambda input: input._values().any(),
}
