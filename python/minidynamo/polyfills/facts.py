"""What a traced polyfill may ask about constants: these functions run while tracing."""

import _string
import collections
import copyreg
import math
import re


def fsum(values):
    return math.fsum(values)


def missing_in_deque(value, by_index):
    """Raises what deque.index or deque.remove does."""
    empty = collections.deque()
    return empty.index(value) if by_index else empty.remove(value)


def slot_names(cls):
    return copyreg._slotnames(cls)


def format_parts(text):
    """Pieces of a format string: what stands in front of a field, the field, its specification and conversion."""
    return list(_string.formatter_parser(text))


def matches(pattern, string):
    """All places where a compiled pattern fits, in order."""
    return list(pattern.finditer(string))


def field_parts(field):
    """The argument a field names, and the attributes and items of it that follow: pairs (is it an attribute, name)."""
    first, rest = _string.formatter_field_name_split(field)
    return first, list(rest)


_PERCENT = re.compile(
    r"%(?:\((?P<key>[^()]*)\))?(?P<flags>[-+ #0]*(?:\*|\d*)(?:\.(?:\*|\d*))?)[hlL]?(?P<kind>.?)", re.DOTALL
)


def percent_parts(text):
    """Pieces of a format for %: (text in front, name of the item or None, flags with width, letter), the last without
    a letter."""
    pieces, at = [], 0
    for place in _PERCENT.finditer(text):
        pieces.append((text[at : place.start()], place["key"], place["flags"], place["kind"]))
        at = place.end()
    return [*pieces, (text[at:], None, "", None)]
