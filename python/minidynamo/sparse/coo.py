"""Tensors given by coordinates and values: what torch calls the layout sparse_coo.

Such a tensor is a Tensor of the device `meta` with its sizes and dtype, `SparseTensor`, that carries two dense ones:
indices of (sparse dimensions, entries), int64, and values of (entries, *dense sizes). Gradients flow through values.
Several entries in one place add up; coalesce() makes one of them.
"""

import math

from .. import _C

_WIDTH = 80  # columns of a text


class _Layout:
    """A memory layout other than torch.strided."""

    def __init__(self, name):
        self._name = name

    def __repr__(self):
        return f"torch.{self._name}"

    def __reduce__(self):
        return self._name


sparse_coo = _Layout("sparse_coo")
rules = {}  # by the name of an op: what it does with sparse tensors
_metadata = (
    "size dim ndimension numel nelement is_floating_point is_complex is_signed element_size __len__ is_inference"
).split()


class SparseTensor(_C.Tensor):
    """A tensor of the layout torch.sparse_coo; made by sparse_coo_tensor() and Tensor.to_sparse()."""

    layout = property(lambda self: sparse_coo)
    device = property(lambda self: self._parts[1].device)
    is_sparse = property(lambda self: True)
    is_meta = property(lambda self: self._parts[1].is_meta)
    is_cpu = property(lambda self: self._parts[1].is_cpu)
    is_cuda = property(lambda self: self._parts[1].is_cuda)
    requires_grad = property(lambda self: self._parts[1].requires_grad)
    is_leaf = property(lambda self: self._parts[1].is_leaf)
    grad_fn = property(lambda self: self._parts[1].grad_fn)

    @property
    def grad(self):
        """The gradient at the entries there are, sparse; None before backward()."""
        grad = self._parts[1].grad
        return None if grad is None else made(self._parts[0], grad, tuple(self.shape), self._coalesced)

    @grad.setter
    def grad(self, value):
        self._parts[1].grad = None if value is None else value._values()

    @requires_grad.setter
    def requires_grad(self, value):
        self._parts[1].requires_grad_(value)

    @property
    def T(self):
        return self.t()

    def _indices(self):
        return self._parts[0]

    def _values(self):
        return self._parts[1]

    def _nnz(self):
        return self._parts[1].shape[0]

    def indices(self):
        """Indices of (sparse dimensions, entries); RuntimeError for tensors that are not coalesced."""
        self._need_coalesced("indices")
        return self._parts[0]

    def values(self):
        """Values of (entries, *dense sizes); RuntimeError for tensors that are not coalesced."""
        self._need_coalesced("values")
        return self._parts[1]

    def _need_coalesced(self, what):
        if not self._coalesced:
            raise RuntimeError(f"{what}() is for coalesced tensors: call coalesce() first, or _{what}()")

    def is_coalesced(self):
        """Whether there is at most one entry in each place, in order."""
        return self._coalesced

    def sparse_dim(self):
        """How many dimensions, the first ones, indices tell of."""
        return self._parts[0].shape[0]

    def dense_dim(self):
        """How many dimensions, the last ones, each entry has all elements of."""
        return self._parts[1].dim() - 1

    def coalesce(self):
        """The tensor with one entry, the sum, for each place that has some, in order; itself if it is like that."""
        return self if self._coalesced else coalesced(self._parts[0], self._parts[1], tuple(self.shape))

    def to_dense(self, dtype=None, *, masked_grad=None):
        """The dense tensor of the same elements."""
        if dtype is not None:
            raise RuntimeError("dtype argument is not supported by to_dense() of sparse tensors; see Tensor.to()")
        indices, values = self._parts
        sparse, dense = self.shape[: self.sparse_dim()], self.shape[self.sparse_dim() :]
        flat = _C.zeros((math.prod(sparse), *dense), dtype=self.dtype, device=self.device)
        return flat.index_add(0, places(indices, sparse), values).reshape(tuple(self.shape))

    def to_sparse(self, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
        """The tensor itself. NotImplementedError for other layouts and other numbers of sparse dimensions."""
        if layout not in (None, sparse_coo) and sparse_dim is None:
            return rules["to_layout"](self, layout, blocksize)
        if layout not in (None, sparse_coo) or blocksize is not None or sparse_dim not in (None, self.sparse_dim()):
            raise NotImplementedError("to_sparse(): sparse tensors stay as they are")
        return self

    to_sparse_coo = to_sparse

    def tolist(self):
        raise RuntimeError("a sparse tensor is no list; use to_dense()")

    def stride(self, dim=None):
        """Zeros: entries are not found by steps."""
        return (0,) * self.dim() if dim is None else 0

    def is_contiguous(self, **kwargs):
        """False: there is no order of elements in memory."""
        return False

    def numpy(self, *args, **kwargs):
        raise TypeError("a sparse tensor is no array of NumPy; use to_dense() first")

    __array__ = numpy

    def as_subclass(self, cls):
        raise NotImplementedError("sparse tensors have no subclasses, and cannot be parameters; their values can")

    def data_ptr(self):
        raise RuntimeError("a sparse tensor has no one memory; see _indices() and _values()")

    def __reduce__(self):
        leaf = self.requires_grad and self.is_leaf
        return rebuild, (self._parts[0], self._parts[1].detach(), tuple(self.shape), self._coalesced, leaf)

    def __reduce_ex__(self, protocol):
        return self.__reduce__()

    def __deepcopy__(self, memo):
        memo[id(self)] = copied = rebuild(
            self._parts[0].clone(), self._parts[1].detach().clone(), tuple(self.shape), self._coalesced,
            self.requires_grad,
        )  # fmt: skip
        return copied

    def __repr__(self, *, tensor_contents=None):
        return text_of(self)

    __str__ = __repr__

    def __format__(self, spec):
        return format(repr(self), spec)

    def __hash__(self):
        return id(self)

    def __bool__(self):
        raise RuntimeError("the truth of a sparse tensor is ambiguous; use to_dense()")

    def __iter__(self):
        return iter(self.unbind())

    @property
    def nbytes(self):
        raise RuntimeError("nbytes of a sparse tensor: add those of _indices() and _values()")

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = getattr(func, "__name__", "")
        if name in rules:
            return rules[name](*args, **(kwargs or {}))
        if hasattr(func, "__wrapped__"):  # a method in Python, made of others
            return func.__wrapped__(*args, **(kwargs or {}))
        if name in _metadata or type(func).__name__ == "method-wrapper":  # the latter: an attribute is read
            with _C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))
        raise NotImplementedError(f"{name}() does not take sparse tensors; use to_dense()")


def made(indices, values, sizes, is_coalesced=False):
    """The sparse tensor of these parts, which have to fit."""
    tensor = _C.empty(tuple(sizes), dtype=values.dtype, device="meta").as_subclass(SparseTensor)
    tensor._parts, tensor._coalesced = (indices, values), bool(is_coalesced) or values.shape[0] < 2
    return tensor


def rebuild(indices, values, sizes, is_coalesced, requires_grad):
    """What pickle calls."""
    return made(indices, values.requires_grad_() if requires_grad else values, sizes, is_coalesced)


def places(indices, sizes):
    """The number of each entry's place, counted with the last dimension fastest; (entries,), int64."""
    place = _C.zeros(indices.shape[1], dtype=_C.int64, device=indices.device)
    for row, size in zip(indices, sizes):
        place = place * size + row
    return place


def coordinates(place, sizes):
    """The indices that places() has counted; (dimensions, entries)."""
    rows = []
    for size in reversed(sizes):
        rows.append(place % size)
        place = place.div(size, rounding_mode="floor")
    return _C.stack(rows[::-1]) if rows else place.new_empty((0, place.shape[0]))


def coalesced(indices, values, sizes):
    """The sparse tensor with one entry for each place: the sum of those there."""
    sparse = sizes[: indices.shape[0]]
    there, entry = _C.unique(places(indices, sparse), sorted=True, return_inverse=True)
    summed = values.new_zeros((there.shape[0], *values.shape[1:])).index_add(0, entry, values)
    return made(coordinates(there, sparse), summed, sizes, True)


def from_dense(tensor, sparse_dim=None):
    """The entries of a dense tensor that differ from 0; gradients flow back to them."""
    dims = tensor.dim()
    sparse_dim = dims if sparse_dim is None else sparse_dim
    if not 0 <= sparse_dim <= dims or (sparse_dim == 0 and dims > 0):
        raise RuntimeError(f"to_sparse(): from 1 to {dims} dimensions can be sparse, not {sparse_dim}")
    if dims == 0:
        entries = 1 if tensor.item() != 0 else 0
        return made(_C.zeros((0, entries), dtype=_C.int64, device=tensor.device), tensor.reshape(1)[:entries], (), True)
    filled = tensor.detach() != 0
    if sparse_dim < dims:
        filled = filled.flatten(sparse_dim).any(-1)
    indices = filled.nonzero().t().contiguous()
    return made(indices, tensor[tuple(indices)], tuple(tensor.shape), True)


def text_of(tensor):
    """As torch prints it: indices, values, sizes, the number of entries, dtype and layout."""

    def part(name, value):
        if value.numel() == 0:
            return f"{name}=tensor([], size={tuple(value.shape)})"
        return f"{name}=tensor({_C._values_text(value.detach(), len(f'tensor({name}=tensor('))})"

    text = f"tensor({part('indices', tensor._indices())},\n       {part('values', tensor._values())},\n       "
    facts = [f"size={tuple(tensor.shape)}", f"nnz={tensor._nnz()}"]
    if tensor.dtype not in (_C.get_default_dtype(), _C.int64, _C.bool):
        facts.append(f"dtype={tensor.dtype}")
    facts.append("layout=torch.sparse_coo")
    if tensor.grad_fn is not None:
        facts.append(f"grad_fn=<{tensor.grad_fn.name()}>")
    elif tensor.requires_grad:
        facts.append("requires_grad=True")
    column = 7
    for fact in facts:
        if column > 7 and column + len(fact) + 2 > _WIDTH:
            text, column = text.rstrip() + "\n       ", 7
        text += fact + ", "
        column += len(fact) + 2
    return text.removesuffix(", ") + ")"
