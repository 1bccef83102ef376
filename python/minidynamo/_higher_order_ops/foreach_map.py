"""foreach_map: a function of tensors for each place of lists of them."""

from .. import _C
from .._absent import absent_names as _absent_names


def foreach_map(op, *operands, **kwargs):
    """[op(a, b, ..., **kwargs) for the places of the lists `operands`]; an operand that is no list is there at each.

    Raises ValueError for lists of different lengths, or none.
    """
    length = None
    for operand in operands:
        if isinstance(operand, (list, tuple)):
            if length is not None and length != len(operand):
                raise ValueError(f"foreach_map(): lists of {length} and {len(operand)} entries")
            length = len(operand)
    if length is None:
        raise ValueError("foreach_map(): at least one list is needed")
    found = []
    for place in range(length):
        row = []
        for operand in operands:
            row.append(operand[place] if isinstance(operand, (list, tuple)) else operand)
        found.append(op(*row, **kwargs))
    return found


_C._mark_callable(foreach_map, "dont_skip")

__getattr__ = _absent_names(__name__)
