"""torch.nested: tensors whose members differ in sizes, kept apart (strided) or in one tensor with offsets (jagged)."""

from .. import _C
from .._absent import absent_names as _absent_names
from . import jagged as _jagged
from . import members as _members
from .jagged import jagged as jagged_layout
from .jagged import nested_tensor_from_jagged as nested_tensor_from_jagged

__all__ = "as_nested_tensor masked_select narrow nested_tensor nested_tensor_from_jagged to_padded_tensor".split()


def _is_jagged(layout):
    if layout is None or layout is _C.strided:
        return False
    if layout is jagged_layout:
        return True
    raise RuntimeError(f"nested tensors are of the layouts torch.strided and torch.jagged, not {layout}")


def nested_tensor(tensor_list, *, dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False):
    """A nested tensor over copies of the members, a leaf without a history."""
    tensors = [
        t.detach().to(device, dtype, copy=True)
        if isinstance(t, _C.Tensor)
        else _C.tensor(t, dtype=dtype, device=device)
        for t in tensor_list
    ]
    if _is_jagged(layout):
        made = _jagged.of_members(tensors)
        return made.requires_grad_() if requires_grad else made
    return _members.made([t.requires_grad_(requires_grad) for t in tensors])


def as_nested_tensor(ts, dtype=None, device=None, layout=None):
    """A nested tensor of the members themselves: gradients flow to them. Of a tensor: its slices are the members."""
    if isinstance(ts, (_members.MembersTensor, _jagged.NestedTensor)):
        return ts
    tensors = [_C.as_tensor(t, dtype=dtype, device=device) for t in ts]
    return _jagged.of_members(tensors) if _is_jagged(layout) else _members.made(tensors)


def to_padded_tensor(input, padding, output_size=None, out=None):
    """The members stacked, with `padding` where they are shorter than the longest, or than `output_size`."""
    return input.to_padded_tensor(padding, output_size)


def narrow(tensor, dim, start, length, layout=None):
    """The nested tensor whose member i is tensor[i, start[i]:start[i] + length[i]]."""
    if dim != 1:
        raise RuntimeError("nested.narrow: only dim=1 can be narrowed")
    starts = [start] * tensor.shape[0] if isinstance(start, int) else start.tolist()
    lengths = [length] * tensor.shape[0] if isinstance(length, int) else length.tolist()
    return as_nested_tensor([t[a : a + n] for t, a, n in zip(tensor, starts, lengths)], layout=layout)


def masked_select(tensor, mask):
    """The jagged tensor whose member i has the elements of tensor[i] where mask[i] is True."""
    mask = mask.broadcast_to(tensor.shape)
    return _jagged.of_members([t[m] for t, m in zip(tensor, mask)])


__getattr__ = _absent_names(__name__)
