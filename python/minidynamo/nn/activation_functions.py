"""Activations that draw random numbers: leaky slopes, and samples of categories with a gradient."""

import warnings

from .. import _C
from .functional import _written

_ops = _C._namespaces["nn.functional"]


@_C._overridable
def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    """x above 0, slope * x below; the slope is drawn from [lower, upper) for each element when training, else their
    mean (Xu et al. 2015). RuntimeError unless lower <= upper."""
    if lower > upper:
        raise RuntimeError(f"rrelu: lower {lower} has to be no more than upper {upper}")
    op = _rrelu_drawn if training else _rrelu_mean
    return _written(op, input, lower, upper) if inplace else op(input, lower, upper)


def _rrelu_drawn(input, lower, upper):
    slope = _C.empty_like(input).uniform_(lower, upper)
    return _C.where(input > 0, input, input * slope)


def _rrelu_mean(input, lower, upper):
    return _ops["leaky_relu"](input, (lower + upper) / 2)


@_C._overridable
def rrelu_(input, lower=1.0 / 8, upper=1.0 / 3, training=False):
    """rrelu, written to `input`."""
    return rrelu(input, lower, upper, training, True)


@_C._overridable
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    """softmax((logits + g) / tau) with g of the Gumbel distribution (Jang et al. 2017; Maddison et al. 2017).

    With `hard` 1 where that is largest and 0 elsewhere, with its gradient. `eps` is of no use any more.
    """
    if eps != 1e-10:
        warnings.warn("gumbel_softmax: `eps` has no effect", stacklevel=2)
    noise = -_C.empty_like(logits).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    place = soft.max(dim, keepdim=True)[1]
    chosen = _C.zeros_like(logits).scatter(dim, place, 1.0)
    return chosen - soft.detach() + soft
