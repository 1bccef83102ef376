"""strict_mode: a call that is captured as a whole or not at all."""

from .._absent import absent_names as _absent_names
from .compiled_calls import call as _call


def strict_mode(callable, operands):
    """callable(*operands), where a graph break inside, or a change of a Python object from outside, is an error.

    `operands` is a list or tuple without containers inside. Raises UncapturedHigherOrderOpError.
    """
    return _call(strict_mode, _plain, (callable,), (callable, operands))


def _plain(callable, operands):
    return callable(*operands)


__getattr__ = _absent_names(__name__)
