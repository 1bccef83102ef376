"""Nested tensors of the layout strided: a sequence of tensors with as many dimensions each."""

from .. import _C
from .._tensors_of_parts import TensorOfParts, of_parts
from .padding import padded

# What is done to each member, or to the members of two nested tensors in turn.
_ENTRYWISE = """
abs neg relu tanh sigmoid gelu silu sin cos sqrt sgn logical_not add sub mul div dropout clone detach contiguous to
float double half bfloat16 long int bool eq ge isnan add_ mul_ where type_as
""".split()


class MembersTensor(TensorOfParts):
    """A nested tensor; see torch.nested.nested_tensor()."""

    _kind = "nested"
    _rules = {}

    is_nested = property(lambda self: True)
    dtype = property(lambda self: self._parts[0].dtype if self._parts else _C.get_default_dtype())
    device = property(lambda self: self._parts[0].device if self._parts else _C.device("cpu"))
    is_meta = property(lambda self: bool(self._parts) and self._parts[0].is_meta)
    is_cpu = property(lambda self: not self.is_meta)
    grad_fn = property(lambda self: next((t.grad_fn for t in self._parts if t.grad_fn is not None), None))
    is_leaf = property(lambda self: self.grad_fn is None)

    @property
    def requires_grad(self):
        return any(t.requires_grad for t in self._parts)

    @requires_grad.setter
    def requires_grad(self, value):
        for t in self._parts:
            t.requires_grad_(value)

    @property
    def grad(self):
        """The gradients of the members; None before backward()."""
        grads = [t.grad for t in self._parts]
        return made([_C.zeros_like(t) if g is None else g for t, g in zip(self._parts, grads)]) if any(
            g is not None for g in grads
        ) else None  # fmt: skip

    @property
    def shape(self):
        raise RuntimeError("a nested tensor has no shape: its members differ in sizes; see size(0) and unbind()")

    def dim(self):
        return 1 + (self._parts[0].dim() if self._parts else 0)

    ndim = property(dim)

    def size(self, dim=None):
        """The size of a dimension in which all members agree."""
        if dim is None:
            raise RuntimeError("a nested tensor has no sizes of all dimensions; see size(0) and unbind()")
        dim = _wrapped(self, dim)
        if dim == 0:
            return len(self._parts)
        sizes = {t.shape[dim - 1] for t in self._parts}
        if len(sizes) != 1:
            raise RuntimeError(f"dimension {dim} of the nested tensor is irregular: its members differ there")
        return sizes.pop()

    def numel(self):
        return sum([t.numel() for t in self._parts])

    def unbind(self, dim=0):
        """The members."""
        if dim != 0:
            raise RuntimeError("unbind of a nested tensor is over dimension 0")
        return tuple(self._parts)

    def values(self):
        """All elements of all members in one dimension."""
        return _C.cat([t.reshape(-1) for t in self._parts])

    def _nested_tensor_size(self):
        return _C.tensor([list(t.shape) for t in self._parts], dtype=_C.int64)

    def to_padded_tensor(self, padding, output_size=None):
        return padded(self._parts, padding, output_size)

    def tolist(self):
        raise RuntimeError("a nested tensor is no list; see unbind()")

    def stride(self, dim=None):
        raise RuntimeError("a nested tensor has no strides; see unbind()")

    def is_contiguous(self, **kwargs):
        return all(t.is_contiguous() for t in self._parts)

    def __len__(self):
        raise RuntimeError("a nested tensor has no len(); see size(0)")

    def __iter__(self):
        raise RuntimeError("a nested tensor is not iterated over; see unbind()")

    def __reduce_ex__(self, protocol):
        return made, (list(self._parts),)

    def __deepcopy__(self, memo):
        from copy import deepcopy

        memo[id(self)] = copied = made(deepcopy(list(self._parts), memo))
        return copied

    def _text(self):
        lines = ",\n".join(["  " + repr(t).replace("\n", "\n  ") for t in self._parts])
        end = (
            f", grad_fn=<{self.grad_fn.name()}>"
            if self.grad_fn
            else ", requires_grad=True"
            if self.requires_grad
            else ""
        )
        return f"nested_tensor([\n{lines}\n]{end})"

    @classmethod
    def _otherwise(cls, func, name, args, kwargs):
        if name in _ENTRYWISE:
            return _each(func, name, args, kwargs)
        raise NotImplementedError(f"{name}() does not take nested tensors; see unbind() and to_padded_tensor()")


def made(tensors):
    """The nested tensor of these members."""
    tensors = tuple(tensors)
    if any(t.dim() != tensors[0].dim() for t in tensors):
        raise RuntimeError("all members of a nested tensor need the same number of dimensions")
    if any(t.dtype != tensors[0].dtype for t in tensors):
        raise RuntimeError("all members of a nested tensor need the same dtype")
    return of_parts(MembersTensor, tensors, (len(tensors),))


def _wrapped(tensor, dim):
    dims = tensor.dim()
    if not -dims <= dim < dims:
        raise IndexError(f"dim {dim} is out of range for a nested tensor of {dims} dimensions")
    return dim % dims


def _each(func, name, args, kwargs):
    nested = [a for a in args if isinstance(a, MembersTensor)]
    count = len(nested[0]._parts)
    if any(len(a._parts) != count for a in nested):
        raise RuntimeError(f"{name}(): nested tensors with as many members are needed")
    if name == "eq" and len(nested) > 1:
        raise RuntimeError("eq() of two nested tensors is not supported; see unbind()")
    if name in ("add", "sub", "mul", "div") and len(nested) > 1:
        for a, b in zip(nested[0]._parts, nested[1]._parts):
            if a.shape != b.shape:
                raise RuntimeError(f"{name}(): members of sizes {tuple(a.shape)} and {tuple(b.shape)} do not match")
    results = []
    for i in range(count):
        own = [a._parts[i] if isinstance(a, MembersTensor) else a for a in args]
        results.append(func(*own, **kwargs))
    return made(results)


def _inner(tensor, dim, what):
    dim = _wrapped(tensor, dim)
    if dim == 0:
        raise RuntimeError(f"{what}() of a nested tensor is not for dimension 0")
    return dim - 1


def _transpose(input, dim0, dim1):
    dim0, dim1 = _inner(input, dim0, "transpose"), _inner(input, dim1, "transpose")
    return made([t.transpose(dim0, dim1) for t in input._parts])


def _matmul(input, other):
    if not isinstance(other, MembersTensor) or not isinstance(input, MembersTensor):
        if isinstance(input, MembersTensor) and other.dim() == 2:
            return made([t @ other for t in input._parts])
        raise RuntimeError("matmul(): two nested tensors are needed")
    return made([a @ b for a, b in zip(input._parts, other._parts)])


def _linear(input, weight, bias=None):
    product = [t @ weight.t() for t in input._parts]
    return made(product if bias is None else [t + bias for t in product])


def _softmax(input, dim, *args, **kwargs):
    inner = _inner(input, dim, "softmax")
    return made([t.softmax(inner) for t in input._parts])


def _layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    from ..nn import functional as F

    return made([F.layer_norm(t, normalized_shape, weight, bias, eps) for t in input._parts])


def _getitem(input, index):
    if isinstance(index, int):
        return input._parts[index]
    if isinstance(index, tuple) and index and isinstance(index[0], int):
        return input._parts[index[0]][index[1:]]
    raise NotImplementedError("indexing of nested tensors: the first index has to be an int")


def _view(input, *sizes):
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if sizes[0] not in (-1, len(input._parts)):
        raise RuntimeError("view(): the first size of a nested tensor is the number of members")
    inner = []
    for t in input._parts:
        own = [t.shape[d] if n == -1 and d < t.dim() else n for d, n in enumerate(sizes[1:])]
        inner.append(t.reshape(own))
    return made(inner)


MembersTensor._rules |= {
    "transpose": _transpose,
    "matmul": _matmul,
    "bmm": _matmul,
    "linear": _linear,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "__getitem__": _getitem,
    "select": lambda input, dim, index: _getitem(input, index),
    "view": _view,
    "reshape": _view,
    "is_tensor": lambda obj: True,
    "cpu": lambda input: input,
    "requires_grad_": lambda input, requires_grad=True: made([t.requires_grad_(requires_grad) for t in input._parts]),
    "zeros_like": lambda input, **kwargs: made([_C.zeros_like(t, **kwargs) for t in input._parts]),
    "ones_like": lambda input, **kwargs: made([_C.ones_like(t, **kwargs) for t in input._parts]),
    "empty_like": lambda input, **kwargs: made([_C.empty_like(t, **kwargs) for t in input._parts]),
}
