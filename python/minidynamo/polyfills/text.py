"""str.format, format_map and join, where an argument is no constant, and re.sub with a function."""

import re

from . import bridge, facts

AUTOMATIC, MANUAL = "automatic field numbering", "manual field specification"


class _Positions:
    """Which arguments fields without a name stand for: either all of them say it, or none does."""

    def __init__(self, args):
        self.args = args
        self.way = None
        self.next = 0

    def argument(self, given):
        way = AUTOMATIC if given is None else MANUAL
        if self.way is None:
            self.way = way
        elif self.way != way:
            raise ValueError(f"cannot switch from {self.way} to {way}")
        at = self.next if given is None else given
        if given is None:
            self.next += 1
        if self.args is None:
            raise ValueError("Format string contains positional fields")
        if at >= len(self.args):
            raise IndexError(f"Replacement index {at} out of range for positional args tuple")
        return self.args[at]


def _value_of(field, positions, named):
    first, rest = facts.field_parts(field)
    if first == "":
        value = positions.argument(None)
    elif isinstance(first, int):
        value = positions.argument(first)
    else:
        value = named[first]
    for is_attribute, name in rest:
        value = getattr(value, name) if is_attribute else value[name]
    return value


def _formatted(text, positions, named, depth):
    if depth < 0:
        raise ValueError("Max string recursion exceeded")
    pieces = []
    for literal, field, specification, conversion in facts.format_parts(text):
        if literal:
            pieces.append(literal)
        if field is None:
            continue
        value = _value_of(field, positions, named)
        if conversion == "s":
            value = str(value)
        elif conversion == "r":
            value = repr(value)
        elif conversion == "a":
            value = ascii(value)
        elif conversion is not None:
            raise ValueError(f"Unknown conversion specifier {conversion}")
        pieces.append(format(value, _formatted(specification, positions, named, depth - 1)))
    return "".join(pieces)


def format_text(self, /, *args, **kwargs):
    return bridge.with_fields(_formatted(self, _Positions(args), kwargs, 1), kwargs)


def format_from(self, mapping, /):
    return _formatted(self, _Positions(None), mapping, 1)


_WRITERS = {"s": str, "r": repr, "a": ascii}


def percent(self, given, /):
    """`self % given`, where something given is an object of the program."""
    items = given if isinstance(given, tuple) else (given,)
    pieces, at, named = [], 0, False
    for literal, key, flags, kind in facts.percent_parts(self):
        pieces.append(literal)
        if kind is None:
            break
        if kind == "%":
            pieces.append("%")
            continue
        if "*" in flags or kind not in "diouxXeEfFgGcrsa":
            bridge.refuse("str.__mod__", "a width among the values, or a letter that is not known")
        if key is None and at >= len(items):
            raise TypeError("not enough arguments for format string")
        if key is None:
            value = items[at]
            at += 1
        else:
            value, named = given[key], True
        if kind in _WRITERS:
            value, kind = _WRITERS[kind](value), "s"
        elif isinstance(value, float):
            value = float(value)
        elif isinstance(value, int):
            value = int(value)
        pieces.append(f"%{flags}{kind}" % (value,))
    if at < len(items) and not named and not hasattr(given, "keys"):
        raise TypeError("not all arguments converted during string formatting")
    return "".join(pieces)


def join_texts(self, parts, /):
    if type(self) is not str:
        self = str.__str__(self)  # the text itself: what the class makes of it is not asked
    text = ""
    for at, part in enumerate(parts):
        if not isinstance(part, str):
            raise TypeError(f"sequence item {at}: expected str instance, {type(part).__name__} found")
        if type(part) is not str:
            part = str.__str__(part)
        text = f"{text}{self}{part}" if at else f"{part}"
    return text


def _substituted(pattern, repl, string, count):
    if not callable(repl):
        bridge.refuse("re.Pattern.sub", "a replacement that is neither a constant nor a function")
    pieces = []
    at = done = 0
    for match in facts.matches(pattern, string):
        if 0 < count <= done:
            break
        if at < match.start():
            pieces.append(string[at : match.start()])
        text = repl(match)
        if text is not None:
            pieces.append(text)
        at = match.end()
        done += 1
    if at < len(string):
        pieces.append(string[at:])
    return string[:0].join(pieces), done


def substitute(self, repl, string, count=0):
    return _substituted(self, repl, string, count)[0]


def substitute_counting(self, repl, string, count=0):
    return _substituted(self, repl, string, count)


TABLE = {
    (str, "format"): format_text,
    (str, "format_map"): format_from,
    (str, "join"): join_texts,
    (re.Pattern, "sub"): substitute,
    (re.Pattern, "subn"): substitute_counting,
}
