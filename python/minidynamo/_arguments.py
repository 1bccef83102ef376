"""What functions written in Python ask of their arguments before they use them."""

from . import _C


def need_tensors(function, **given):
    """Raises TypeError naming the first of the given arguments that is no tensor, by its place among them."""
    for position, (name, value) in enumerate(given.items(), 1):
        if not isinstance(value, _C.Tensor) and not hasattr(type(value), "__torch_function__"):
            kind = type(value).__name__
            raise TypeError(f"{function}(): argument '{name}' (position {position}) must be Tensor, not {kind}")
