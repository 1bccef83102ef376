"""Finds the codes that words, a line of code or a message are about."""

import ast
import functools
import math
import re

from . import all_breaks

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WEIGHTS = (8, 4, 2, 1)  # of words people look for, the title, the hints, the rest
_STATEMENT = 3  # how much more than other words the keyword of a statement says
_ALIKE = 75  # of 100: what counts as mistyped
_LONGEST = 4000  # characters of a query; messages and stacks are cut there
_NOISE = frozenset("a an the of in is it to i my how do does why can not for on with from torch minidynamo".split())
_KEYWORDS = {
    ast.If: "if", ast.While: "while", ast.Assert: "assert", ast.Raise: "raise", ast.Import: "import",
    ast.ImportFrom: "import", ast.With: "with", ast.ClassDef: "class", ast.Delete: "del", ast.Try: "try",
}  # fmt: skip


def _stem(word):
    """Good enough to match `branches` with `branching` and `items` with `item`."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _stems(text):
    """Stems of a text, with the parts of names such as requires_grad_."""
    found = set()
    for name in _NAME.findall(text.lower()):
        found |= {_stem(part) for part in (name, *name.split("_")) if part}
    return found


@functools.cache
def _index():
    """Rows of (break, stems of each field); and in how many rows each stem occurs."""
    rows, frequency = [], {}
    for b in all_breaks():
        fields = (
            {_stem(word) for word in _NAME.findall(b.words.lower())},  # as they stand: a part says something else
            _stems(b.type),
            _stems(" ".join(b.hints)),
            _stems(f"{b.explanation} {b.context} {b.area}"),
        )
        rows.append((b, fields))
        for stem in set().union(*fields):
            frequency[stem] = frequency.get(stem, 0) + 1
    return rows, frequency


def _statement_word(text):
    """The keyword of a line of code, "" where the text is none."""
    line = text.strip()
    for source in (line, f"{line}\n pass", f"{line}: pass"):
        try:
            body = ast.parse(source).body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        return _KEYWORDS.get(type(body[0]), "") if body else ""
    return ""


def _wanted(text):
    """{stem: how much it counts}; what is in no text at all is taken for a mistyped word."""
    _, frequency = _index()
    weights = {}
    for stem in _stems(text) - _NOISE:
        if len(stem) < 2:
            continue
        if stem in frequency:
            weights[stem] = 1.0
        elif meant := _meant(stem):
            weights[meant[0]] = max(weights.get(meant[0], 0), meant[1])
    keyword = _statement_word(text)
    if keyword:
        weights[keyword] = _STATEMENT
    return weights


def _meant(stem):
    """(the known stem that is most like it, how much it counts); None: there is none."""
    from rapidfuzz import fuzz, process
    from rapidfuzz.distance import DamerauLevenshtein

    known = sorted(_index()[1])
    if len(stem) <= 5:  # two letters that changed places are one mistake
        near = process.extract(stem, known, scorer=DamerauLevenshtein.distance, score_cutoff=1, limit=None)
        near.sort(key=lambda found: (found[0][0] != stem[0], found[1]))  # first letters are seldom mistyped
        return (near[0][0], 0.9) if near else None
    near = process.extractOne(stem, known, scorer=fuzz.ratio, score_cutoff=_ALIKE)
    return (near[0], near[1] / 100) if near else None


def index_data():
    """What `search` ranks by, as JSON holds it, for the copy of it that runs in a browser (_site/static/site.js).

    `stems`: every known stem; `rows`: for each row of the registry its code and the places of its stems by field.
    """
    rows, frequency = _index()
    stems = sorted(frequency)
    place = {stem: at for at, stem in enumerate(stems)}
    return {
        "stems": stems,
        "rows": [[b.code, *(sorted(place[stem] for stem in field) for field in fields)] for b, fields in rows],
        "weights": _WEIGHTS,
        "statement": _STATEMENT,
        "alike": _ALIKE,
        "longest": _LONGEST,
        "noise": sorted(_NOISE),
        "keywords": sorted(set(_KEYWORDS.values())),
    }


def search(text, limit=10):
    """Rows that best match the words of `text`, or a line of code, best first: at most `limit`, each code once.

    Rare words count more, as do those in the title, and most the ones that stand for a code in the registry.
    """
    text = text[:_LONGEST]
    rows, frequency = _index()
    wanted = _wanted(text)
    scored = []
    for position, (b, fields) in enumerate(rows):
        score = 0.0
        for stem, counts in wanted.items():
            weight = max((w for w, field in zip(_WEIGHTS, fields) if stem in field), default=0)
            if weight:
                score += counts * weight * math.log(1 + len(rows) / frequency[stem])
        if score:
            concise = 1 + len(fields[1] & wanted.keys()) / len(
                fields[1]
            )  # of two hits, the title that says little else
            scored.append((-round(score * concise, 9), position, b))  # sums of floats depend on their order
    seen, found = set(), []
    for _, _, b in sorted(scored, key=lambda s: s[:2]):
        if b.code not in seen:
            seen.add(b.code)
            found.append(b)
    return found[:limit]
