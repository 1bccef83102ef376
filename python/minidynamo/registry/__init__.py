"""The graph-break registry: every code with its title, explanation and hints.

The texts come from the compiled table (made from registry/graph_breaks.toml), so that they are the ones errors print.
"""

import dataclasses
import functools
import math
import re

from .._C import _registry

__all__ = ["GraphBreak", "all_breaks", "lookup", "search"]

_WORD = re.compile(r"[a-z0-9_]+")


@dataclasses.dataclass(frozen=True)
class GraphBreak:
    """One text of one code. Parts filled in when the break happens appear as <name>."""

    id: str  # "GB0007", or "GB0007_builtin" for another text of the same code
    code: str
    type: str
    context: str
    explanation: str
    hints: tuple
    area: str
    kind: str  # fundamental, supportable, user_error or internal
    status: str  # raised, synthetic (only with a setting for tests), superseded (traced), internal or unreachable
    why: str  # of a code that is not raised
    python: str  # the CPythons on which it can be raised, "<=3.11"; "": all


def _readable(template, args):
    text = re.sub(r"(?<!\{)\{(\d+)\}(?!\})", lambda m: f"<{args[int(m.group(1))]}>", template)
    return text.replace("{{", "{").replace("}}", "}")


@functools.cache
def all_breaks():
    """Every row, ordered by code."""
    found, statuses = [], _registry.statuses()
    for row in _registry.rows():
        context, explanation, *hints = (
            _readable(text, row["args"]) for text in (row["context"], row["explanation"], *row["hints"])
        )
        found.append(
            GraphBreak(
                row["id"],
                row["code"],
                row["type"],
                context,
                explanation,
                tuple(hints),
                row["area"],
                row["class"],
                *statuses[row["code"]],
            )  # fmt: skip
        )
    return tuple(found)


def lookup(code):
    """The texts of a code given as GB0124, gb0124 or 124; KeyError if there is none."""
    match = re.fullmatch(r"(?:GB)?(\d{1,4})", str(code).strip(), re.IGNORECASE)
    name = f"GB{int(match.group(1)):04d}" if match else None
    found = [b for b in all_breaks() if b.code == name]
    if not found:
        raise KeyError(code)
    return found


def _stem(word):
    """Good enough to match `branches` with `branching` and `items` with `item`."""
    for ending in ("ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            return word[: -len(ending)]
    return word


def _stems(text):
    """Stems of a text, with the parts of names such as requires_grad_."""
    words = _WORD.findall(text.lower())
    parts = [p for w in words for p in w.split("_") if p]
    return {_stem(w) for w in [*words, *parts]}


@functools.cache
def _index():
    """Per row: stems of title, hints and the rest; and in how many rows each stem occurs."""
    rows, frequency = [], {}
    for b in all_breaks():
        fields = (_stems(b.type), _stems(" ".join(b.hints)), _stems(f"{b.explanation} {b.context} {b.area}"))
        rows.append((b, fields))
        for stem in set().union(*fields):
            frequency[stem] = frequency.get(stem, 0) + 1
    return rows, frequency


def search(text, limit=10):
    """Rows that best match the words of `text`, best first: rare words and words in the title count more."""
    wanted = _stems(text)
    rows, frequency = _index()
    scored = []
    for position, (b, fields) in enumerate(rows):
        score = 0.0
        for stem in wanted:
            weight = max((w for w, field in zip((4, 2, 1), fields) if stem in field), default=0)
            if weight:
                score += weight * math.log(1 + len(rows) / frequency[stem])
        if score:
            concise = 1 + len(fields[0] & wanted) / len(fields[0])  # of two hits, the title that says little else
            scored.append((-score * concise, position, b))
    seen, found = set(), []
    for _, _, b in sorted(scored, key=lambda s: s[:2]):
        if b.code not in seen:
            seen.add(b.code)
            found.append(b)
    return found[:limit]
