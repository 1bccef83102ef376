"""Formulas as in `gradient_formulas.py` for views, and for operators that put elements elsewhere."""

import math

from .. import _C
from .derivatives import call as operator
from .gradient_formulas import _added, _kind, _same, _unary

_END = 2**63 - 1

# --- Views -----------------------------------------------------------------------------------------------------------


def _sliced_back(grad, call, dim, start, stop, step):
    end = _END if stop is None else stop
    return operator("slice_backward", grad, call.shape("self"), dim, start or 0, end, step)


def _narrowed_back(grad, call, dim, start, length):
    return operator("slice_backward", grad, call.shape("self"), dim, start, start + length, 1)


def _permuted_back(grad, dims):
    back = [0] * len(dims)
    for place, d in enumerate(dims):
        back[d % len(dims)] = place
    return grad.permute(back)


def _squeezed_back(grad, call, dim=None):
    if dim is not None:
        return _squeezed_dim_back(grad, call, dim)
    for d, size in enumerate(call.shape("self")):
        if size == 1:
            grad = grad.unsqueeze(d)
    return grad


def _squeezed_dim_back(grad, call, dim):
    rank = call.rank("self")
    for d in sorted(d % rank for d in (dim if isinstance(dim, (list, tuple)) else [dim])) if rank else ():
        if call.shape("self")[d] == 1:
            grad = grad.unsqueeze(d)
    return grad


def _indexed_back(grad, call, indices):
    items = list(indices) if isinstance(indices, (list, tuple)) else [indices]
    if not all(item is None or isinstance(item, _C.Tensor) for item in items):
        return NotImplemented
    return operator("index_put", grad.new_zeros(call.shape("self"), **_kind(grad)), items, grad, True)


_VIEWS = {
    "view": lambda grad, call: grad.reshape(call.shape("self")),
    "_unsafe_view": lambda grad, call: grad.reshape(call.shape("self")),
    "squeeze": _squeezed_back,
    "squeeze.dim": _squeezed_dim_back,
    "unsqueeze": lambda grad, dim: operator("squeeze", grad, dim if dim >= 0 else dim + grad.dim(), overload="dim"),
    "expand": _same,
    "permute": _permuted_back,
    "transpose": lambda grad, dim0, dim1: grad.transpose(dim0, dim1),
    "t": lambda grad: grad.t(),
    "T": lambda grad: grad.permute(list(range(grad.dim() - 1, -1, -1))),
    "mT": lambda grad: grad.transpose(-2, -1),
    "select": lambda grad, call, dim, index: operator("select_backward", grad, call.shape("self"), dim, index),
    "select_at": lambda grad, call, dim, start: operator("select_backward", grad, call.shape("self"), dim, start),
    "slice": _sliced_back,
    "narrow": _narrowed_back,
    "diagonal": lambda grad, call, offset, dim1, dim2: operator(
        "diagonal_backward", grad, call.shape("self"), offset, dim1, dim2
    ),
    "diagonal_copy": lambda grad, call, offset, dim1, dim2: operator(
        "diagonal_backward", grad, call.shape("self"), offset, dim1, dim2
    ),
    "unfold": lambda grad, call, dimension, size, step: operator(
        "unfold_backward", grad, call.shape("self"), dimension, size, step
    ),
    "index": _indexed_back,
    "diag_embed": lambda grad, offset=0, dim1=-2, dim2=-1: grad.diagonal(offset, dim1, dim2),
    "take": lambda grad, self, index: operator("put", operator("zeros_like", self), index, grad, True),
    "flip": lambda grad, dims: grad.flip(dims),
    "roll": lambda grad, shifts, dims: _rolled_back(grad, shifts, dims),
}


def _rolled_back(grad, shifts, dims):
    listed = list(shifts) if isinstance(shifts, (list, tuple)) else [shifts]
    back = [-s for s in listed]
    if not dims:
        return operator("roll", grad, back)
    dims = list(dims) if isinstance(dims, (list, tuple)) else [dims]
    return operator("roll", grad, back[::-1], dims[::-1])


def _selected(grad, call, dim, index, alpha=1):
    return _added(grad.index_select(dim, index), alpha).expand(call.shape("source"))


def _repeated_back(grad, call, repeats):
    sizes = call.shape("self")
    for _ in range(len(repeats) - len(sizes)):
        grad = grad.sum(0)
    wide, dims = [], []
    for size, count in zip(sizes, repeats[len(repeats) - len(sizes) :]):
        if count != 1:
            dims.append(len(wide))
            wide.append(count)
        wide.append(size)
    if math.prod(wide) == 0:
        return NotImplemented
    return grad.reshape(wide).sum(dims) if dims else grad


def _zeros_at(grad, dim, index):
    return operator("scatter", grad, dim, index, 0, overload="value")


def _taken_from_mask(grad, self, mask):
    sizes = self.shape if mask.dim() <= self.dim() and 1 not in self.shape else (self * mask).shape
    zeros = _C.zeros_like(self.expand(sizes), memory_format=_C.preserve_format)
    return zeros.masked_scatter(mask, grad)


def _nothing_like(grad, call):
    return _C.zeros(call.shape("src"), dtype=grad.dtype, device=grad.device)


def _part_replaced(base, part):
    """`self` with `src` in the place of a part of it."""
    places = {
        "slice_scatter": {
            "self": lambda grad, call, dim=0, start=None, end=None, step=1: operator(
                base, grad, _nothing_like(grad, call), dim, start, end, step
            ),
            "src": lambda grad, dim=0, start=None, end=None, step=1: operator(
                part, grad, dim, start, end, step, overload="Tensor"
            ),
        },
        "select_scatter": {
            "self": lambda grad, call, dim, index: operator(base, grad, _nothing_like(grad, call), dim, index),
            "src": lambda grad, dim, index: grad.select(dim, index),
        },
        "diagonal_scatter": {
            "self": lambda grad, call, offset=0, dim1=0, dim2=1: operator(
                base, grad, _nothing_like(grad, call), offset, dim1, dim2
            ),
            "src": lambda grad, offset=0, dim1=0, dim2=1: grad.diagonal(offset, dim1, dim2),
        },
    }
    return places[base]


def _joined(grads, call, dim, sizes):
    """Of parts along a dimension; zeros where nothing flows."""
    like = next(g for g in grads if g is not None)
    parts = []
    for g, size in zip(grads, sizes):
        if g is None:
            shape = call.shape("self")
            shape[dim] = size
            g = _C.zeros(shape, dtype=like.dtype, device=like.device)
        parts.append(g)
    return _C.cat(parts, dim)


def _split_back(grads, call, split_size, dim=0):
    whole = call.shape("self")[dim]
    return _joined(grads, call, dim, [min(split_size, whole - at) for at in range(0, whole, split_size)])


def _split_sizes_back(grads, call, split_sizes, dim=0):
    return _joined(grads, call, dim, split_sizes)


def _unbound_back(grads, call, dim=0):
    like = next(g for g in grads if g is not None)
    shape = call.shape("self")
    del shape[dim]
    parts = [_C.zeros([], dtype=like.dtype, device=like.device).expand(shape) if g is None else g for g in grads]
    return _C.stack(parts, dim)


PLACEMENT_FORMULAS = {
    "split": _unary(_split_back),
    "split_with_sizes": _unary(_split_sizes_back),
    "unbind": _unary(_unbound_back),
    **{name: _unary(formula) for name, formula in _VIEWS.items()},
    "stack": {"tensors": lambda grad, tensors, dim=0: [grad.select(dim, i) for i in range(len(tensors))]},
    "repeat": _unary(_repeated_back),
    "index_add": {"self": _same, "source": _selected},
    "index_copy": {
        "self": lambda grad, dim, index: operator("index_fill", grad, dim, index, 0, overload="int_Scalar"),
        "source": _selected,
    },
    "index_fill": _unary(lambda grad, dim, index: operator("index_fill", grad, dim, index, 0, overload="int_Scalar")),
    "scatter": {"self": _zeros_at, "src": lambda grad, dim, index: grad.gather(dim, index)},
    "scatter.value": {"self": _zeros_at},
    "scatter_add": {"self": _same, "src": lambda grad, dim, index: grad.gather(dim, index)},
    "masked_select": _unary(_taken_from_mask),
    "masked_scatter": {
        "self": lambda grad, mask: operator("masked_fill", grad, mask, 0, overload="Scalar"),
        "source": lambda grad, mask, call: operator("masked_scatter_backward", grad, mask, call.shape("source")),
    },
    "im2col": _unary(
        lambda grad, call, kernel_size, dilation, padding, stride: operator(
            "col2im", grad, call.shape("self")[-2:], kernel_size, dilation, padding, stride
        )
    ),
    "col2im": _unary(
        lambda grad, kernel_size, dilation, padding, stride: operator(
            "im2col", grad, kernel_size, dilation, padding, stride
        )
    ),
    "pixel_shuffle": _unary(lambda grad, upscale_factor: operator("pixel_unshuffle", grad, upscale_factor)),
    "pixel_unshuffle": _unary(lambda grad, downscale_factor: operator("pixel_shuffle", grad, downscale_factor)),
    "channel_shuffle": _unary(
        lambda grad, call, groups: operator("channel_shuffle", grad, call.shape("self")[1] // groups)
    ),
    "rot90": _unary(lambda grad, k=1, dims=(0, 1): operator("rot90", grad, -k, list(dims))),
    "slice_scatter": _part_replaced("slice_scatter", "slice"),
    "select_scatter": _part_replaced("select_scatter", "select"),
    "diagonal_scatter": _part_replaced("diagonal_scatter", "diagonal"),
}
