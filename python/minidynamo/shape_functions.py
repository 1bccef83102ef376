"""Functions about sizes and parts of tensors that few programs name."""

from . import _C
from ._absent import absent_names as _absent_names
from ._arguments import need_tensors


@_C._overridable
def split_with_sizes(input, split_sizes, dim=0):
    """Views of these many elements each along `dim`. RuntimeError if they are not all of it."""
    if sum(split_sizes) != input.shape[dim]:
        raise RuntimeError(
            f"split_with_sizes expects split_sizes to sum exactly to {input.shape[dim]} (input tensor's size at "
            f"dimension {dim}), but got split_sizes={list(split_sizes)}"
        )
    return input.split(list(split_sizes), dim)


@_C._overridable
def unsafe_chunk(input, chunks, dim=0):
    """input.chunk(chunks, dim)."""
    return input.chunk(chunks, dim)


@_C._overridable
def unsafe_split(input, split_size, dim=0):
    """input.split(split_size, dim)."""
    return input.split(split_size, dim)


@_C._overridable
def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """split_with_sizes()."""
    return split_with_sizes(input, split_sizes, dim)


@_C._overridable
def narrow_copy(input, dim, start, length):
    """input.narrow(dim, start, length) with memory of its own."""
    return input.narrow(dim, start, length).clone()


@_C._overridable
def is_inference(input):
    """Whether the tensor was made in inference mode."""
    return input.is_inference()


def empty_permuted(
    size, physical_layout, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False
):
    """A tensor of these sizes whose memory has the dimensions in the order `physical_layout`, the slowest first."""
    if sorted(physical_layout) != list(range(len(size))):
        raise RuntimeError(f"empty_permuted: {tuple(physical_layout)} is no order of {len(size)} dimensions")
    made = _C.empty([size[d] for d in physical_layout], dtype=dtype, device=device)
    return made.permute([list(physical_layout).index(d) for d in range(len(size))]).requires_grad_(requires_grad)


@_C._overridable
def constant_pad_nd(input, pad, value=0):
    """As nn.functional.pad, with a constant: pairs of widths from the last dimension on, negative ones cut off."""
    from .nn.functional import pad as padded

    return padded(input, tuple(pad), "constant", value)


def sum_to_size(self, *size):
    """Sums over the dimensions in which tensors of `size` are broadcast to this one. RuntimeError if they are not."""
    size = tuple(size[0]) if len(size) == 1 and not isinstance(size[0], int) else size
    leading = self.dim() - len(size)
    kept = self.shape[leading:] if leading >= 0 else ()
    if leading < 0 or any(want not in (1, have) for want, have in zip(size, kept)):
        raise RuntimeError(f"sum_to_size(): size {list(size)} is not expandable to size {list(self.shape)}.")
    dims = [d for d in range(self.dim()) if d < leading or (size[d - leading] == 1 and self.shape[d] != 1)]
    summed = self.sum(dims, keepdim=True) if dims else self
    return summed.reshape(size) if leading else summed


@_C._overridable
def unravel_index(indices, shape):
    """The coordinates of places in a tensor of `shape` that is read row by row: one tensor for each dimension.

    ValueError for negative sizes, TypeError for indices that are no whole numbers.
    """
    if not isinstance(indices, _C.Tensor) or indices.is_floating_point() or indices.dtype is _C.bool:
        raise TypeError("unravel_index(): indices has to be a tensor of an integer dtype")
    shape = (shape,) if isinstance(shape, int) else tuple(shape)
    if any(size < 0 for size in shape):
        raise ValueError(f"unravel_index(): shape must not have negative sizes, got {shape}")
    found, stride = [], 1
    for size in reversed(shape):
        found.append(indices.div(stride, rounding_mode="floor") % size)
        stride *= size
    return tuple(reversed(found))


def scalar_tensor(s, *, dtype=None, layout=None, device=None, pin_memory=None, requires_grad=False):
    """A tensor without dimensions, of the default dtype if none is given."""
    if pin_memory:
        raise RuntimeError("scalar_tensor(): there is no accelerator to pin memory for")
    if layout not in (None, _C.strided):
        raise NotImplementedError(f"scalar_tensor(): the layout is torch.strided here, not {layout}")
    return _C.full((), s, dtype=dtype or _C.get_default_dtype(), device=device, requires_grad=requires_grad)


@_C._overridable
def is_signed(input):
    """Whether the dtype has negative numbers."""
    return input.dtype.is_signed


@_C._overridable
def is_nonzero(input):
    """Whether the only element is not 0. RuntimeError for none and for several."""
    need_tensors("is_nonzero", input=input)
    return bool(input)


@_C._overridable
def is_same_size(input, other):
    """Whether the sizes are equal."""
    need_tensors("is_same_size", input=input, other=other)
    return input.shape == other.shape


@_C._overridable
def get_device(input):
    """-1: the CPU has no index."""
    return input.get_device()


__getattr__ = _absent_names(__name__)
