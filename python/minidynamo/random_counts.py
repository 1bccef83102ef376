"""torch.poisson and torch.binomial: random counts, drawn as torch.distributions draws them."""

from . import _C
from ._dynamo.marked_callables import DataDependentValue as _DataDependentValue
from .distributions import random_draws as _draws


def _drawn(draw, generator):
    """What draw() gives where the default stream is that of the generator."""
    if generator is None:
        return draw()
    stream = _C.default_generator
    before = stream.get_state()
    stream.set_state(generator.get_state())
    try:
        return draw()
    finally:
        generator.set_state(stream.get_state())
        stream.set_state(before)


def _check(name, *tensors):
    for tensor in tensors:
        if not isinstance(tensor, _C.Tensor):
            raise TypeError(f"{name}(): a Tensor is needed, got {type(tensor).__name__}")
        if not tensor.is_floating_point():
            raise RuntimeError(f"{name}(): rates and numbers are floating-point tensors, not {tensor.dtype}")


@_C._overridable
def poisson(input, generator=None):
    """For each rate a draw of its Poisson distribution, of the same dtype. Raises RuntimeError for negative rates."""
    _check("poisson", input)
    try:
        negative = bool((input < 0).any())
    except _DataDependentValue:  # while tracing; the graph's call looks
        return input.clone()
    if negative:
        raise RuntimeError("poisson(): a rate is negative")
    return _drawn(lambda: _draws.poisson(input), generator)


@_C._overridable
def binomial(count, prob, generator=None):
    """For each pair the number of successes in `count` trials that succeed with probability `prob`."""
    _check("binomial", count, prob)
    if count.dtype != prob.dtype:
        raise RuntimeError(f"binomial(): tensors of one dtype are needed, got {count.dtype} and {prob.dtype}")
    return _drawn(lambda: _draws.binomial(count, prob), generator)


for _function in (poisson, binomial):
    _C._mark_callable(_function, "allow_in_graph")
