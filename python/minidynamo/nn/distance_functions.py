"""Distances and angles between vectors."""

from .. import _C

_norm = _C._namespaces["linalg"]["vector_norm"]


@_C._overridable
def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    """Norm 1 along `dim`: input / max(norm, eps), written to `out` if given."""
    result = input / _norm(input, p, dim, keepdim=True).clamp_min(eps)
    return result if out is None else out.resize_(result.shape).copy_(result)


@_C._overridable
def cosine_similarity(x1, x2, dim=1, eps=1e-8):
    """The cosine of the angle between vectors along `dim`."""
    first, second = [x / _at_least(_norm(x, 2, dim, keepdim=True), eps) for x in (x1, x2)]
    return (first * second).sum(dim)


def _at_least(norm, eps):
    """max(norm, eps), with the gradient of `norm` everywhere."""
    if not norm.requires_grad:
        return norm.clamp_min(eps)
    fixed = norm.detach()
    return fixed.clamp_min(eps) + (norm - fixed)


@_C._overridable
def pairwise_distance(x1, x2, p=2.0, eps=1e-6, keepdim=False):
    """The norm of x1 - x2 + eps along the last dimension."""
    return _norm(x1 - x2 + eps, p, -1, keepdim=keepdim)


@_C._overridable
def pdist(input, p=2.0):
    """The `p`-norm distances between the rows of a matrix: first with all after it, second with all after it, ...

    RuntimeError for what is no matrix of floating point, and for p < 0.
    """
    if input.dim() != 2:
        raise RuntimeError(f"pdist only supports 2D tensors, got: {input.dim()}D")
    if not input.is_floating_point():
        raise RuntimeError(f"pdist only supports floating-point dtypes, got {input.dtype}")
    if p < 0:
        raise RuntimeError(f"pdist only supports non-negative p values, got {p}")
    first, second = _C.triu_indices(input.shape[0], input.shape[0], 1, device=input.device)
    return _norm(input.index_select(0, first) - input.index_select(0, second), p, -1)
