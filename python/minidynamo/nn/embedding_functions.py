"""Rows of weights by their numbers: each on its own, or bags of them together."""

from .. import _C
from .._dynamo.eval_frame import is_compiling
from ..autograd.grad_mode import no_grad
from .arguments import need_tensors


def _check_indices(function, input):
    if input.dtype not in (_C.int64, _C.int32):
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; "
            f"but got {input.dtype} instead (while checking arguments for {function})"
        )


def _limit_rows(weight, index, max_norm, norm_type):
    with no_grad():
        rows = weight.index_select(0, index)
        norm = rows.norm(norm_type, 1, keepdim=True).double()
        factor = _C.where(norm > max_norm, max_norm / (norm + 1e-7), 1.0).to(rows.dtype)
        weight.index_copy_(0, index.long(), rows * factor)


def _rows(weight, index, scale_grad_by_freq, sparse):
    """weight[index]; with `scale_grad_by_freq` the gradient of a row is divided by how often it is there."""
    if sparse and weight.is_leaf and weight.requires_grad and _C.is_grad_enabled():
        from .sparse_rows import sparse_rows

        if scale_grad_by_freq:
            raise RuntimeError("embedding: scale_grad_by_freq does not go with sparse gradients")
        return sparse_rows(weight, index)
    rows = weight.index_select(0, index)
    if not (scale_grad_by_freq and weight.requires_grad and _C.is_grad_enabled()):
        return rows
    often = _C.bincount(index, minlength=weight.shape[0]).index_select(0, index)
    scaled = rows / often.to(rows.dtype).unsqueeze(1)
    return rows.detach() + (scaled - scaled.detach())  # adds 0, and has the gradient of `scaled`


def _padding(weight, padding_idx):
    count = weight.shape[0]
    if not -count <= padding_idx < count:
        raise AssertionError("Padding_idx must be within num_embeddings")
    return padding_idx % count


@_C._overridable
def embedding(input, weight, padding_idx=None, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, sparse=False):
    """The row of `weight` that each index names, of any shape.

    The row `padding_idx` gets no gradient; with `scale_grad_by_freq` each row's is divided by how often it is named;
    with `sparse` the gradient of a leaf is a sparse tensor. With `max_norm`, rows that are
    named and have a larger `norm_type`-norm are first scaled to it, in `weight` itself: by max_norm / (norm + 1e-7).
    """
    need_tensors("embedding", weight=weight, indices=input)
    if weight.dim() != 2:
        raise RuntimeError("'weight' must be 2-D")
    _check_indices("embedding", input)
    index = input.reshape(-1)
    if max_norm is not None:
        _limit_rows(weight, index, max_norm, norm_type)
    rows = _rows(weight, index, scale_grad_by_freq, sparse)
    if padding_idx is not None:
        padding = _padding(weight, padding_idx)
        if rows.requires_grad:
            rows = _C.where((index == padding).unsqueeze(1), rows.detach(), rows)
    return _C._as_one_call(rows.view(*input.shape, weight.shape[1]), "Embedding", weight)


@_C._overridable
def embedding_bag(
    input,
    weight,
    offsets=None,
    max_norm=None,
    norm_type=2,
    scale_grad_by_freq=False,
    mode="mean",
    sparse=False,
    per_sample_weights=None,
    include_last_offset=False,
    padding_idx=None,
):
    """The sum, mean or largest values of the rows of `weight` that each bag of indices names: (bags, columns).

    A bag is a row of a matrix `input`, or goes from one of `offsets` to the next of a vector `input`, the last one to
    its end; with `include_last_offset` the last of `offsets` is that end. Indices that are `padding_idx` do not count;
    an empty bag gives zeros. `per_sample_weights`, one for each index, multiply in the mode "sum". `max_norm`,
    `norm_type`, `scale_grad_by_freq` and `sparse` as in embedding().
    """
    need_tensors("embedding_bag", weight=weight, input=input)
    _check_bags(input, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse)
    _check_indices("embedding_bag", input)
    if padding_idx is not None and not -weight.shape[0] <= padding_idx < weight.shape[0]:
        raise RuntimeError(
            f"padding_idx must be within the number of embeddings, {-weight.shape[0]} through {weight.shape[0] - 1}, "
            f"but got {padding_idx}"
        )
    index = input.reshape(-1)
    if max_norm is not None:
        _limit_rows(weight, index, max_norm, norm_type)
    rows = _rows(weight, index, scale_grad_by_freq, sparse)
    if per_sample_weights is not None:
        rows = rows * per_sample_weights.reshape(-1, 1)
    if input.dim() == 2:
        bags, bag = input.shape[0], _C.arange(input.shape[0], device=input.device).repeat_interleave(input.shape[1])
    else:
        bags = offsets.shape[0] - include_last_offset
        places = _C.arange(index.shape[0], dtype=offsets.dtype, device=index.device)
        bag = (_C.searchsorted(offsets[:bags], places, right=True) - 1).long()
    counted = None if padding_idx is None else index != padding_idx % weight.shape[0]
    return _C._as_one_call(_BAGS[mode](rows, bag, bags, counted), "EmbeddingBag", weight, per_sample_weights)


def _check_bags(input, offsets, mode, per_sample_weights, scale_grad_by_freq, sparse):
    if per_sample_weights is not None and input.shape != per_sample_weights.shape:
        raise ValueError(
            f"embedding_bag: per_sample_weights have the shape {list(per_sample_weights.shape)} and have to have that "
            f"of input, {list(input.shape)}"
        )
    if input.dim() == 2 and offsets is not None:
        raise ValueError("embedding_bag: the rows of a matrix of indices are the bags, offsets has to be None")
    if input.dim() == 1 and (not isinstance(offsets, _C.Tensor) or offsets.dim() != 1):
        raise ValueError("embedding_bag: a vector of indices needs offsets, a vector too")
    if input.dim() not in (1, 2):
        raise ValueError(f"embedding_bag: indices are a vector or a matrix, got {input.dim()} dimensions")
    if mode not in _BAGS:
        raise ValueError(f"embedding_bag: mode is 'sum', 'mean' or 'max', not {mode!r}")
    if mode == "max" and (scale_grad_by_freq or sparse):
        raise ValueError("embedding_bag: scale_grad_by_freq and sparse do not go with the mode 'max'")
    if per_sample_weights is not None and mode != "sum":
        raise NotImplementedError(f"embedding_bag: per_sample_weights go with the mode 'sum' only, not {mode!r}")
    if offsets is not None:
        _check_indices("embedding_bag", offsets)
        _check_offsets(offsets, input.shape[0])


def _check_offsets(offsets, length):
    if is_compiling() or offsets.shape[0] == 0:
        return
    first, last = offsets[0].item(), offsets[-1].item()
    if first != 0:
        raise RuntimeError(f"embedding_bag: offsets[0] has to be 0, the first bag begins there; got {first}")
    if last > length:
        raise RuntimeError(f"embedding_bag: offsets[-1] is {last}, behind the end of {length} indices")


def _bag_sum(rows, bag, bags, counted):
    if counted is not None:
        rows = rows.masked_fill(~counted.unsqueeze(1), 0.0)
    empty = _C.zeros((bags, rows.shape[1]), dtype=rows.dtype, device=rows.device)
    return empty.index_add(0, bag, rows)


def _bag_mean(rows, bag, bags, counted):
    ones = _C.ones_like(bag) if counted is None else counted.long()
    sizes = _C.zeros(bags, dtype=_C.int64, device=bag.device).index_add(0, bag, ones)
    return _bag_sum(rows, bag, bags, counted) / sizes.clamp_min(1).to(rows.dtype).unsqueeze(1)


def _bag_max(rows, bag, bags, counted):
    """The gradient goes to the first of equal rows, so their positions are found, and rows taken from there."""
    count, width = rows.shape
    if count == 0:
        return _C.zeros((bags, width), dtype=rows.dtype, device=rows.device)
    values = rows.detach()
    if counted is not None:
        values = values.masked_fill(~counted.unsqueeze(1), -float("inf"))
    where = bag.unsqueeze(1).expand(count, width)
    lowest = _C.full((bags, width), -float("inf"), dtype=rows.dtype, device=rows.device)
    largest = lowest.scatter_reduce(0, where, values, "amax")
    order = _C.arange(count, device=rows.device).unsqueeze(1).expand(count, width)
    candidates = order.masked_fill(values != largest.gather(0, where), count)
    if counted is not None:
        candidates = candidates.masked_fill(~counted.unsqueeze(1), count)
    none = _C.full((bags, width), count, dtype=_C.int64, device=rows.device)
    first = none.scatter_reduce(0, where, candidates, "amin")
    found = rows.gather(0, first.clamp_max(count - 1))
    return found.masked_fill(first == count, 0.0)


_BAGS = {"sum": _bag_sum, "mean": _bag_mean, "max": _bag_max}
