"""What the functions of torch.linalg refuse, and how their operands are brought to one shape."""

from .. import _C
from ..functional import broadcast_sizes


def refuse_out(name, out):
    """NotImplementedError if there is one."""
    if out is not None:
        raise NotImplementedError(f"{name}: out= is not here; use the result")


def need_matrices(name, a, letter="A"):
    """RuntimeError for fewer than two dimensions and other dtypes than float32 and float64."""
    if not isinstance(a, _C.Tensor):
        raise TypeError(f"{name}(): argument '{letter}' must be Tensor, not {type(a).__name__}")
    if a.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {letter} must have at least 2 dimensions.")
    if not a.is_floating_point():
        raise RuntimeError(f"{name}: Expected a floating point tensor as input. Got {a.dtype}")
    if a.dtype not in (_C.float32, _C.float64):
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
