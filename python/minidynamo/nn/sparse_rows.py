"""Rows of a weight whose gradient is sparse: what embeddings with sparse=True take."""

from .._dynamo.marked_callables import allow_in_graph
from ..autograd import Function
from ..sparse.coo import made


class SparseRows(Function):
    """weight[index] of a leaf: its gradient gets an entry for each index, in the layout torch.sparse_coo."""

    @staticmethod
    def forward(ctx, weight, index):
        ctx.weight, ctx.index = weight, index
        return weight.detach().index_select(0, index)

    @staticmethod
    def backward(ctx, grad):
        weight = ctx.weight
        rows = made(ctx.index.long().unsqueeze(0), grad.detach().clone(), tuple(weight.shape))
        weight.grad = rows if weight.grad is None else weight.grad + rows
        return None, None


@allow_in_graph
def sparse_rows(weight, index):
    """weight[index], with such a gradient; in a graph it is called as it is."""
    return SparseRows.apply(weight, index)
