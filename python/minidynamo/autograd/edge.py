"""Where the gradient of a tensor goes: a node of the record of operations, and which of its results."""

from collections import namedtuple

from .. import _C


class GradientEdge(namedtuple("GradientEdge", ("node", "output_nr", "ownership_token"), defaults=(None,))):
    """`output_nr`-th result of `node`. `ownership_token` is something that keeps the node alive, if it has to."""

    __slots__ = ()


def get_gradient_edge(tensor):
    """The edge of a tensor that requires grad; its node adds to `grad` for a leaf. RuntimeError if it does not."""
    if isinstance(tensor, GradientEdge):
        return tensor
    edge = _C._gradient_edge(tensor)
    if edge is None:
        raise RuntimeError("only a tensor that requires grad has a gradient edge")
    return GradientEdge(*edge)
