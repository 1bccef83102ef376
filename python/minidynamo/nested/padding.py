"""Members of different sizes as one tensor."""

from .. import _C
from ..nn import functional as F


def padded(tensors, padding, output_size=None):
    """The members stacked; each is filled up to the largest size in each dimension, or to `output_size`."""
    if not tensors:
        raise RuntimeError("to_padded_tensor: a nested tensor without members has no sizes")
    dims = range(tensors[0].dim())
    sizes = [max(t.shape[d] for t in tensors) for d in dims]
    if output_size is not None:
        wanted = list(output_size)[1:]
        if len(wanted) != len(sizes) or any(n < s for n, s in zip(wanted, sizes)):
            raise RuntimeError(
                f"to_padded_tensor: members of sizes up to {tuple(sizes)} do not fit {tuple(output_size)}"
            )
        sizes = wanted
    filled = []
    for t in tensors:
        width = [n for d in reversed(dims) for n in (0, sizes[d] - t.shape[d])]
        filled.append(F.pad(t, width, value=padding) if any(width) else t)
    made = _C.stack(filled)
    if output_size is not None and output_size[0] > len(tensors):
        rest = _C.full((output_size[0] - len(tensors), *sizes), padding, dtype=made.dtype, device=made.device)
        made = _C.cat([made, rest])
    return made
