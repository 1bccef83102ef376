"""What the functions of torch.linalg refuse, and how their operands are brought to one shape."""

import functools
import warnings

from .. import _C
from ..functional import broadcast_sizes
from . import LinAlgError


def takes_out(function):
    """Decorator: `out`, a tensor or one for each result, is resized to the results and gets them."""

    @functools.wraps(function)
    def wrapper(*args, out=None, **kwargs):
        if out is None:
            return function(*args, **kwargs)
        name = function.__name__
        tensors = [x for x in (*args, *kwargs.values()) if isinstance(x, _C.Tensor)]
        if _C.is_grad_enabled() and any([x.requires_grad for x in tensors]):
            raise RuntimeError(f"{name}(): results in out= have no gradient, and an argument requires grad")
        result = function(*args, **kwargs)
        if isinstance(result, _C.Tensor):
            return _fill(name, out, result)
        if not isinstance(out, (tuple, list)):
            raise TypeError(f"{name}(): argument 'out' must be tuple of Tensors, not {type(out).__name__}")
        if len(out) != len(result):
            raise TypeError(f"{name}(): there are {len(result)} results, and out has {len(out)} tensors")
        return type(result)(*[_fill(name, given, value) for given, value in zip(out, result)])

    del wrapper.__wrapped__  # attributes of its own are in the way of what wraps it in turn
    return wrapper


def _fill(name, out, result):
    if not isinstance(out, _C.Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out.dtype is not result.dtype:
        raise RuntimeError(f"{name}: Expected out tensor to have dtype {result.dtype}, but got {out.dtype} instead")
    if out.shape != result.shape:
        if out.numel():
            warnings.warn(
                f"{name}(): a tensor given as out has other sizes than the result and is resized; give one without "
                f"elements, or of the result's sizes",
                stacklevel=4,
            )
        out.resize_(result.shape)
    return out.copy_(result)


def need_matrices(name, a, letter="A"):
    """RuntimeError for fewer than two dimensions and other dtypes than float32, float64 and complex."""
    if not isinstance(a, _C.Tensor):
        raise TypeError(f"{name}(): argument '{letter}' must be Tensor, not {type(a).__name__}")
    if a.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")
    if not (a.is_floating_point() or a.is_complex()):
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {a.dtype}")
    if a.dtype not in (_C.float32, _C.float64, _C.complex64, _C.complex128):
        raise RuntimeError(f"{name}: Low precision dtypes are not supported. Got {a.dtype}")


def need_square(name, a):
    """RuntimeError for matrices that are not square as well."""
    need_matrices(name, a)
    if a.shape[-1] != a.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {a.shape[-2]} by {a.shape[-1]} matrices"
        )


def broadcast_batches(name, a, b):
    """Both with the batch dimensions that theirs broadcast to. RuntimeError if they do not fit each other."""
    need_matrices(name, b, "B")
    if a.dtype != b.dtype:
        raise RuntimeError(f"{name}: A and B must have one dtype, but A is {a.dtype} and B is {b.dtype}")
    if a.shape[-1] != b.shape[-2]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation AX = B "
            f"({a.shape[-2]}x{a.shape[-1]} and {b.shape[-2]}x{b.shape[-1]})"
        )
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    batch = broadcast_sizes(a.shape[:-2], b.shape[:-2])
    return a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])


def is_vectors(a, b):
    """Whether a right side of `a` is a batch of vectors: of one dimension, or of a's sizes without the last one."""
    return b.dim() == 1 or (a.dim() - 1 == b.dim() and b.shape == a.shape[:-1])


def raise_for_singular(name, info):
    """LinAlgError for the first matrix with a zero pivot, whose place is its info in an array."""
    _raise_for(name, info, "its pivot {} is zero, so the matrix is singular")


def raise_for_indefinite(name, info):
    """LinAlgError for the first matrix that has no Cholesky factor."""
    _raise_for(name, info, "the leading minor of order {} is not positive, so the matrix is not positive-definite")


def raise_for_rank(name, info, text):
    """RuntimeError for the first info that is not 0, which fills the text."""
    _raise_for(name, info, text, RuntimeError)


def _raise_for(name, info, text, error=LinAlgError):
    """The text says which matrix it is, of several, and what its info is."""
    values = info.reshape(-1).tolist()
    if not any(values):
        return
    at = next(i for i, value in enumerate(values) if value)
    which = f"(Batch element {at}): " if len(info.shape) else ""
    raise error(f"{name}: {which}{text.format(values[at])}")
