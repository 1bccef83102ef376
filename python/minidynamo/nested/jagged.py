"""Nested tensors of the layout jagged: one tensor of all members, and where each begins."""

import itertools
import weakref

from .. import _C
from .._tensors_of_parts import TensorOfParts, of_parts
from ..sparse.coo import _Layout
from .padding import padded

jagged = _Layout("jagged")
_numbers = itertools.count(1)
_names = weakref.WeakValueDictionary()  # by offsets: tensors with the same ones have the same irregular size
# Ops on each element, whatever the sizes.
_ENTRYWISE = """
abs neg relu tanh sigmoid gelu silu sin cos exp log sqrt rsqrt square sgn sign add sub mul div pow dropout clone detach
contiguous to float double half bfloat16 long int bool eq ne lt le gt ge isnan where type_as clamp maximum minimum
softplus elu leaky_relu log1p expm1 reciprocal floor ceil round logical_not logical_and logical_or zeros_like ones_like
empty_like rand_like randn_like full_like requires_grad_ masked_fill erf true_divide rsub __rsub__ __rdiv__ __rpow__
""".split()


class RaggedSize:
    """The size in which members differ: equal to itself alone."""

    def __init__(self):
        self._name = f"j{next(_numbers)}"

    def __repr__(self):
        return self._name


class NestedTensor(TensorOfParts):
    """A nested tensor over `values`, whose member i is values[offsets[i]:offsets[i + 1]]."""

    _kind = "nested"
    _rules = {}

    is_nested = property(lambda self: True)
    layout = property(lambda self: jagged)
    _ragged_idx = property(lambda self: self._dim)

    @property
    def shape(self):
        """Sizes; the one in which members differ is an object of its own."""
        values = list(self._parts[0].shape)
        values[self._dim - 1] = self._size
        return (self._parts[1].shape[0] - 1, *values)

    @property
    def grad(self):
        grad = self._parts[0].grad
        return None if grad is None else self._with(grad)

    def dim(self):
        return self._parts[0].dim() + 1

    ndim = property(dim)

    def size(self, dim=None):
        return self.shape if dim is None else self.shape[dim]

    def numel(self):
        return self._parts[0].numel()

    def values(self):
        """All members, joined."""
        return self._parts[0]

    def offsets(self):
        """Where members begin, and where the last one ends."""
        return self._parts[1]

    def lengths(self):
        """None, or how long members are where there are gaps between them."""
        return self._parts[2]

    def unbind(self, dim=0):
        """The members: views of values()."""
        if dim != 0:
            raise RuntimeError("unbind of a nested tensor is over dimension 0")
        starts = self._parts[1].tolist()
        lengths = [b - a for a, b in zip(starts, starts[1:])] if self._parts[2] is None else self._parts[2].tolist()
        return tuple([self._parts[0].narrow(self._dim - 1, a, n) for a, n in zip(starts, lengths)])

    def to_padded_tensor(self, padding, output_size=None):
        return padded(self.unbind(), padding, output_size)

    def is_contiguous(self, **kwargs):
        return self._parts[2] is None and self._dim == 1

    def backward(self, *args, **kwargs):
        return self._parts[0].backward(*args, **kwargs)

    def __len__(self):
        return self._parts[1].shape[0] - 1

    def __iter__(self):
        return iter(self.unbind())

    def tolist(self):
        return [t.tolist() for t in self.unbind()]

    def __reduce_ex__(self, protocol):
        return nested_tensor_from_jagged, (self._parts[0], self._parts[1], self._parts[2], self._dim)

    def __deepcopy__(self, memo):
        memo[id(self)] = copied = self._with(self._parts[0].detach().clone())
        return copied

    def _with(self, values, dim=None):
        return _made(values, self._parts[1], self._parts[2], dim or self._dim, self._size)

    def _text(self):
        end = (
            f", grad_fn=<{self.grad_fn.name()}>"
            if self.grad_fn
            else ", requires_grad=True"
            if self.requires_grad
            else ""
        )
        size = "(" + ", ".join(map(str, self.shape)) + ")"
        return f"NestedTensor(size={size}, offsets={self._parts[1]}{end}, contiguous={self.is_contiguous()})"

    @classmethod
    def _otherwise(cls, func, name, args, kwargs):
        if name in _ENTRYWISE:
            return _on_values(func, name, args, kwargs)
        raise NotImplementedError(f"{name}() does not take nested tensors; see values() and unbind()")


def _made(values, offsets, lengths=None, dim=1, size=None):
    tensor = of_parts(NestedTensor, (values, offsets, lengths), ())
    tensor._dim = dim
    if size is None:
        size = _names.get(id(offsets)) or RaggedSize()
        _names[id(offsets)] = size
        size._of = offsets  # kept: no other tensor gets its id
    tensor._size = size
    return tensor


def of_members(tensors):
    """The jagged tensor of members that differ in their first dimension."""
    if not tensors:
        raise RuntimeError("a nested tensor of the layout torch.jagged needs a member")
    first = tensors[0]
    if first.dim() == 0 or any(t.dim() != first.dim() or t.shape[1:] != first.shape[1:] for t in tensors):
        raise RuntimeError("members of a jagged tensor may differ in their first dimension alone")
    lengths = _C.tensor([0] + [t.shape[0] for t in tensors], device=first.device)
    return _made(_C.cat(list(tensors)), lengths.cumsum(0))


def nested_tensor_from_jagged(values, offsets=None, lengths=None, jagged_dim=None, min_seqlen=None, max_seqlen=None):
    """The nested tensor over `values` with these offsets, or with members of these lengths one after the other."""
    if offsets is None:
        if lengths is None:
            raise RuntimeError("nested_tensor_from_jagged: offsets or lengths are needed")
        offsets, lengths = _C.cat([lengths.new_zeros(1), lengths.cumsum(0)]), None
    return _made(values, offsets, lengths, 1 if jagged_dim is None else jagged_dim)


def _on_values(func, name, args, kwargs):
    nested = [a for a in args if isinstance(a, NestedTensor)]
    first = nested[0]
    own = []
    for a in args:
        if isinstance(a, NestedTensor):
            if a._size is not first._size and not _C.equal(a._parts[1], first._parts[1]):
                raise RuntimeError(f"{name}(): nested tensors of sizes {first.shape} and {a.shape} do not match")
            own.append(a._parts[0])
        elif isinstance(a, _C.Tensor) and a.dim() == first.dim() and name not in ("type_as",):
            own.append(_spread(a, first))
        else:
            own.append(a)
    return first._with(func(*own, **kwargs))


def _spread(dense, nested):
    """A dense operand as long as the values: of each member its row."""
    if dense.shape[nested._dim] != 1:
        raise RuntimeError("a dense operand of a nested tensor has to be of size 1 where members differ")
    if dense.shape[0] == 1:
        return dense.squeeze(0)
    starts = nested._parts[1]
    return _C.repeat_interleave(dense.squeeze(nested._dim), starts[1:] - starts[:-1], dim=0)


def _inner(input, dim):
    dims = input.dim()
    if not -dims <= dim < dims:
        raise IndexError(f"dim {dim} is out of range for a nested tensor of {dims} dimensions")
    return dim % dims


def _along(input, dim, what):
    """A dimension of the values."""
    dim = _inner(input, dim)
    if dim in (0, input._dim):
        raise RuntimeError(
            f"{what}() of a nested tensor is not for the dimension {dim}, which members or their lengths are"
        )
    return dim - 1


def _reduced(name):
    function = getattr(_C, name)

    def rule(input, dim=None, keepdim=False, *, dtype=None):
        kwargs = {} if dtype is None else {"dtype": dtype}
        if dim is None:
            return function(input._parts[0], **kwargs)
        dims = [_inner(input, d) for d in ((dim,) if isinstance(dim, int) else dim)]
        if dims == [input._dim] or input._dim in dims and 0 not in dims:
            inner = [d - 1 for d in dims]
            return _C.stack([function(t, inner, keepdim=keepdim, **kwargs) for t in input.unbind()])
        if 0 in dims:
            if input._dim not in dims:
                raise RuntimeError(f"{name}(): members differ in sizes, and cannot be summed with each other")
            rest = [0, *[d - 1 for d in dims if d not in (0, input._dim)]]
            result = function(input._parts[0], rest, keepdim=keepdim, **kwargs)
            return result.unsqueeze(0) if keepdim else result
        return input._with(function(input._parts[0], [d - 1 for d in dims], keepdim=keepdim, **kwargs))

    return rule


def _linear(input, weight, bias=None):
    from ..nn import functional as F

    return input._with(F.linear(input._parts[0], weight, bias))


def _layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    from ..nn import functional as F

    return input._with(F.layer_norm(input._parts[0], normalized_shape, weight, bias, eps))


def _softmax(name):
    function = getattr(_C, name)
    return lambda input, dim, *args, **kwargs: input._with(function(input._parts[0], _along(input, dim, name)))


def _matmul(input, other):
    if isinstance(input, NestedTensor) and isinstance(other, NestedTensor):
        return of_members([a @ b for a, b in zip(input.unbind(), other.unbind())])
    if isinstance(other, NestedTensor) or input._dim != 1:
        raise RuntimeError("matmul(): the nested tensor has to be the first operand, members in rows")
    return input._with(input._parts[0] @ other)


def _transpose(input, dim0, dim1):
    dim0, dim1 = _inner(input, dim0), _inner(input, dim1)
    if 0 in (dim0, dim1):
        raise RuntimeError("transpose() of a nested tensor is not for dimension 0")
    ragged = {dim0: dim1, dim1: dim0}.get(input._dim, input._dim)
    return input._with(input._parts[0].transpose(dim0 - 1, dim1 - 1), ragged)


def _unflatten(input, dim, sizes):
    return input._with(input._parts[0].unflatten(_along(input, dim, "unflatten"), sizes))


def _flatten(input, start_dim=0, end_dim=-1):
    return input._with(input._parts[0].flatten(_along(input, start_dim, "flatten"), _along(input, end_dim, "flatten")))


def _parts_along(name):
    function = getattr(_C, name)

    def rule(input, how, dim=0):
        parts = function(input._parts[0], how, _along(input, dim, name))
        return tuple([input._with(p) for p in parts])

    return rule


def _cat(tensors, dim=0):
    first = next(t for t in tensors if isinstance(t, NestedTensor))
    return first._with(_C.cat([t._parts[0] for t in tensors], _along(first, dim, "cat")))


def _unsqueeze(input, dim):
    dim = dim % (input.dim() + 1)
    if dim <= input._dim:
        raise RuntimeError("unsqueeze() of a nested tensor is for dimensions behind that in which members differ")
    return input._with(input._parts[0].unsqueeze(dim - 1))


def _view(input, *sizes):
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    inner = [-1 if isinstance(n, RaggedSize) else n for n in sizes[1:]]
    if sum([n == -1 for n in inner]) > 1:
        inner = [input._parts[0].shape[0], *inner[1:]]
    return input._with(input._parts[0].reshape(inner))


def _getitem(input, index):
    if isinstance(index, int):
        return input.unbind()[index]
    if isinstance(index, tuple) and index and isinstance(index[0], int):
        return input.unbind()[index[0]][index[1:]]
    if isinstance(index, tuple) and index[:2] == (slice(None), slice(None)):
        return input._with(input._parts[0][(slice(None), *index[2:])])
    raise NotImplementedError("indexing of nested tensors: the first index has to be an int")


NestedTensor._rules |= {name: _reduced(name) for name in ("sum", "mean", "amax", "amin")}
NestedTensor._rules |= {name: _softmax(name) for name in ("softmax", "log_softmax")}
NestedTensor._rules |= {name: _parts_along(name) for name in ("chunk", "split")}
NestedTensor._rules |= {
    "linear": _linear,
    "layer_norm": _layer_norm,
    "matmul": _matmul,
    "transpose": _transpose,
    "unflatten": _unflatten,
    "flatten": _flatten,
    "cat": _cat,
    "unsqueeze": _unsqueeze,
    "view": _view,
    "reshape": _view,
    "__getitem__": _getitem,
    "select": lambda input, dim, index: _getitem(input, index) if dim == 0 else input._with(
        input._parts[0].select(_along(input, dim, "select"), index)
    ),
    "is_tensor": lambda obj: True,
    "cpu": lambda input: input,
}  # fmt: skip
