"""What the page of a code says besides its texts: the codes it is related to, words for what the table abbreviates."""

import ast
import functools
import math

from .. import registry
from .._commands.explain import KINDS, STATUSES
from ..registry import programs, search

_RELATED = 6  # codes a page names at most
_SAME_AREA = 1.2  # how much more two codes of one area have to do with each other
_FEATURE = 2  # how much more the name of an API in both programs says than a word of the texts
OUTCOMES = {
    "resumed": "a new graph goes on after it",
    "skipped": "the function runs as plain Python",
    "plain": "the function runs as plain Python",
    "raised": "it is an error, since the program asks for a single graph",
}


class Code:
    """All that the registry says of a code."""

    def __init__(self, code):
        self.texts = registry.lookup(code)
        first = self.texts[0]
        self.code, self.title, self.area, self.context = code, first.type, first.area, first.context
        self.kind, self.kind_text = first.kind, KINDS[first.kind]
        self.status, self.status_text, self.why = first.status, STATUSES[first.status], first.why
        self.python, self.since = first.python, registry.SINCE
        self.page = f"gb/{code.lower()}.html"

    def cases(self):
        """(what the text is for, "" where there is one only; the text)"""
        return [(b.id.partition("_")[2].replace("_", " "), b) for b in self.texts]


@functools.cache
def all_codes():
    """One for each code, in order."""
    return tuple(Code(code) for code in sorted({b.code for b in registry.all_breaks()}))


@functools.cache
def areas():
    """{area: its codes}"""
    found = {}
    for code in all_codes():
        found.setdefault(code.area, []).append(code)
    return dict(sorted(found.items()))


@functools.cache
def _features():
    """{code: {what it is about: how much it counts}}: stems of its texts, and the names its programs use."""
    found = {}
    for code, *fields in search.index_data()["rows"]:
        counted = found.setdefault(code, {})
        for stem in set().union(*fields):
            counted[str(stem)] = 1
    for code, counted in found.items():
        shown = programs.pair(code)
        names = {n.attr for n in ast.walk(ast.parse(shown.before)) if isinstance(n, ast.Attribute)} if shown else ()
        for name in names:
            counted[f".{name}"] = _FEATURE
    held = {}
    for counted in found.values():
        for feature in counted:
            held[feature] = held.get(feature, 0) + 1
    for counted in found.values():
        for feature in counted:
            counted[feature] *= math.log(len(found) / held[feature])
    return {code: dict(sorted(counted.items())) for code, counted in found.items()}


def related(code):
    """The codes that have most to do with one, by what their texts and programs share."""
    features, area = _features(), registry.lookup(code)[0].area
    own = features[code]

    def length(counted):
        return math.sqrt(sum(value * value for value in counted.values())) or 1

    scored = []
    for other in all_codes():
        if other.code == code:
            continue
        theirs = features[other.code]
        shared = sum(value * theirs[feature] for feature, value in own.items() if feature in theirs)
        likeness = shared / (length(own) * length(theirs)) * (_SAME_AREA if other.area == area else 1)
        scored.append((-round(likeness, 9), other.code, other))
    return [other for likeness, _, other in sorted(scored, key=lambda row: row[:2])[:_RELATED] if likeness]
