"""Where the gradient of a tensor goes: a node of the record of operations, and which of its results."""

from collections import namedtuple

from .. import _C
from .grad_mode import enable_grad as _enable_grad


class GradientEdge(namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,))):
    """`output_nr`-th result of `node`. `ownership_token` keeps what the edge belongs to: here the tensor itself."""

    __slots__ = ()

    def tensor(self):
        """The tensor that the edge was asked of. NotImplementedError for an edge put together by hand."""
        if not isinstance(self.ownership_token, _C.Tensor):
            raise NotImplementedError("a GradientEdge stands for a tensor only if get_gradient_edge() made it")
        return self.ownership_token


def get_gradient_edge(tensor):
    """The edge of a tensor that requires grad; its node adds to `grad` for a leaf. RuntimeError if it does not."""
    if isinstance(tensor, GradientEdge):
        return tensor
    if not tensor.requires_grad:
        raise RuntimeError("only a tensor that requires grad has a gradient edge")
    # The next call on the tensor knows it, and for a leaf nothing else does.
    with _enable_grad():
        ((node, result),) = tensor.view_as(tensor).grad_fn.next_functions
    return GradientEdge(node, result, tensor)
