"""torch.functional: einsum with its form without letters; the rest are ops."""

import string

from . import _C


def _letters(labels):
    text = ""
    for label in labels:
        if label is Ellipsis:
            text += "..."
        elif isinstance(label, int) and 0 <= label < 52:
            text += string.ascii_letters[label]
        else:
            raise ValueError(f"einsum(): a subscript in a list must be an int from 0 to 51 or Ellipsis, not {label!r}")
    return text


def einsum(*args):
    """Sums of products in Einstein's notation: einsum('ij,jk->ik', a, b) or einsum(a, [0, 1], b, [1, 2], [0, 2])."""
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand")
    if isinstance(args[0], str):
        return _C.einsum(*args)
    operands, labels = args[: len(args) // 2 * 2 : 2], args[1::2]
    equation = ",".join([_letters(names) for names in labels])
    if len(args) % 2 == 1:
        equation += "->" + _letters(args[-1])
    return _C.einsum(equation, *operands)
