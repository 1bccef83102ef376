"""torch.functional: einsum with its form without letters, and functions made of ops; the rest are ops themselves."""

import string

from . import _C
from ._absent import absent_names as _absent_names
from .nn import functional as _layers

# Functions that torch has here and in its own namespace.
_SHARED = """atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors cartesian_prod cdist chain_matmul meshgrid
    norm split tensordot unique unique_consecutive""".split()
globals().update({name: getattr(_C, name) for name in _SHARED if hasattr(_C, name)})
_vector_norm = _C._namespaces["linalg"]["vector_norm"]


def _letters(labels):
    text = ""
    for label in labels:
        if label is Ellipsis:
            text += "..."
        elif isinstance(label, int) and 0 <= label < 52:
            text += string.ascii_letters[label]
        else:
            raise ValueError(f"einsum(): a subscript in a list must be an int from 0 to 51 or Ellipsis, not {label!r}")
    return text


def einsum(*args):
    """Sums of products in Einstein's notation: einsum('ij,jk->ik', a, b) or einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand")
    if isinstance(args[0], str):
        return _C.einsum(*args)
    operands, labels = args[: len(args) // 2 * 2 : 2], args[1::2]
    equation = ",".join([_letters(names) for names in labels])
    if len(args) % 2 == 1:
        equation += "->" + _letters(args[-1])
    return _C.einsum(equation, *operands)


@_C._overridable
def batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, cudnn_enabled=True):
    """As nn.functional.batch_norm, with its arguments in another order."""
    return _layers.batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


@_C._overridable
def group_norm(input, num_groups, weight=None, bias=None, eps=1e-05, cudnn_enabled=True):
    """As nn.functional.group_norm."""
    return _layers.group_norm(input, num_groups, weight, bias, eps)


@_C._overridable
def embedding(weight, indices, padding_idx=-1, scale_grad_by_freq=False, sparse=False):
    """As nn.functional.embedding, with the first two arguments exchanged."""
    return _layers.embedding(indices, weight)


@_C._overridable
def dropout(input, p, train):
    """As nn.functional.dropout."""
    return _layers.dropout(input, p, train)


def broadcast_shapes(*shapes):
    """The Size that tensors of these sizes, tuples or ints, broadcast to. RuntimeError if they do not."""
    return _C.Size(broadcast_sizes(*shapes))


def broadcast_sizes(*shapes):
    """The same as a list."""
    sizes = []
    for shape in shapes:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        if any(size < 0 for size in shape):
            raise RuntimeError(f"broadcast_shapes: sizes must not be negative, got {shape}")
        sizes = [1] * (len(shape) - len(sizes)) + sizes
        for at, size in enumerate(shape, len(sizes) - len(shape)):
            if size != 1 and sizes[at] not in (1, size):
                raise RuntimeError(f"broadcast_shapes: the sizes {shapes} do not broadcast: {size} against {sizes[at]}")
            sizes[at] = size if sizes[at] == 1 else sizes[at]
    return sizes


@_C._overridable
def renorm(input, p, dim, maxnorm):
    """Parts of `input` along `dim` whose p-norm is above `maxnorm` are scaled to it; the others are as they were.

    The factor is maxnorm / (norm + 1e-7), as in torch. Raises RuntimeError for fewer than two dimensions, p <= 0 and
    maxnorm < 0, IndexError for a dim out of range.
    """
    if p <= 0:
        raise RuntimeError(f"renorm: p has to be positive, not {p}")
    if maxnorm < 0:
        raise RuntimeError(f"renorm: maxnorm must not be negative, and is {maxnorm}")
    if input.dim() < 2:
        raise RuntimeError(f"renorm: input needs at least 2 dimensions, got {input.dim()}")
    if not -input.dim() <= dim < input.dim():
        raise IndexError(
            f"renorm: dim {dim} is out of range for {input.dim()} dimensions ({-input.dim()} to {input.dim() - 1})"
        )
    others = [d for d in range(input.dim()) if d != dim % input.dim()]
    narrow = input.dtype in (_C.float16, _C.bfloat16)
    norm = _vector_norm(input, p, others, keepdim=True, dtype=_C.float32 if narrow else input.dtype)
    factor = _C.where(norm > maxnorm, maxnorm / (norm + 1e-7), 1.0)
    return input * factor.to(input.dtype)


def renorm_(input, p, dim, maxnorm):
    """renorm() in place."""
    return input.copy_(renorm(input.clone(), p, dim, maxnorm))


# Of other files, which are read when one of them is asked for.
_ELSEWHERE = {
    "istft": "spectrograms", "stft": "spectrograms", "lu": "linalg.older_names", "pca_lowrank": "linalg.low_rank",
    "svd_lowrank": "linalg.low_rank", "unravel_index": "shape_functions",
}  # fmt: skip


def _load(name, missing):
    if name not in _ELSEWHERE:
        return missing
    from importlib import import_module

    return getattr(import_module(f".{_ELSEWHERE[name]}", __package__), name)


__getattr__ = _absent_names(__name__, _load)
