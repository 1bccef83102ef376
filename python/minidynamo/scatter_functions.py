"""Copies of a tensor with a part of it replaced or reduced: torch.slice_scatter and its kin. Gradients flow to both."""

from . import _C
from ._absent import absent_names as _absent_names


def _fill(part, src):
    """Writes src to a view of the same sizes."""
    if part.shape != src.shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.shape)}, slice size = "
            f"{list(part.shape)}"
        )
    part.copy_(src)


@_C._overridable
def slice_scatter(input, src, dim=0, start=None, end=None, step=1):
    """`input` with src in the place of input[start:end:step] along `dim`. RuntimeError for other sizes of src."""
    if step < 1:
        raise RuntimeError("slice step must be positive")
    out = input.clone()
    _fill(out[(slice(None),) * (dim % input.dim()) + (slice(start, end, step),)], src)
    return out


@_C._overridable
def select_scatter(input, src, dim, index):
    """`input` with src in the place of input.select(dim, index)."""
    out = input.clone()
    _fill(out.select(dim, index), src)
    return out


@_C._overridable
def diagonal_scatter(input, src, offset=0, dim1=0, dim2=1):
    """`input` with src in the place of input.diagonal(offset, dim1, dim2)."""
    out = input.clone()
    _fill(out.diagonal(offset, dim1, dim2), src)
    return out


@_C._overridable
def as_strided_scatter(input, src, size, stride, storage_offset=None):
    """`input` with src in the place of input.as_strided(size, stride, storage_offset)."""
    out = input.clone()
    if not (input.is_contiguous() and input.storage_offset() == 0):
        length = input.untyped_storage().nbytes() // input.element_size()
        whole = input.as_strided((length,), (1,), 0).clone()
        out = whole.as_strided(input.shape, input.stride(), input.storage_offset())
    _fill(out.as_strided(size, stride, input.storage_offset() if storage_offset is None else storage_offset), src)
    return out


@_C._overridable
def index_reduce(input, dim, index, source, reduce, *, include_self=True, out=None):
    """Row index[i] of `input` along `dim` combined with row i of source: by "prod", "mean", "amax" or "amin".

    `include_self`: the values of input take part; rows that no index names stay as they are.
    """
    if out is not None:
        raise NotImplementedError("index_reduce: out= is not here; use the result")
    if reduce not in ("prod", "mean", "amax", "amin"):
        raise RuntimeError(f"index_reduce(): Expected reduce to be one of prod, mean, amax or amin but got {reduce}.")
    if index.dim() > 1 or index.numel() != source.shape[dim]:
        raise RuntimeError(
            f"index_reduce(): index has to be a vector as long as dimension {dim} of source, {source.shape[dim]}, and "
            f"is of sizes {list(index.shape)}"
        )
    shape = [1] * source.dim()
    shape[dim] = index.numel()
    places = index.reshape(shape).expand(source.shape)
    return input.scatter_reduce(dim, places, source, reduce, include_self=include_self)


def index_reduce_(self, dim, index, source, reduce, *, include_self=True):
    """index_reduce() in place."""
    return self.copy_(index_reduce(self, dim, index, source, reduce, include_self=include_self))


__getattr__ = _absent_names(__name__)
