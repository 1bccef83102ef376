"""The graph-break registry: every code with its title, explanation and hints.

The texts come from the compiled table (made from registry/graph_breaks.toml), so that they are the ones errors print.
"""

import dataclasses
import functools
import re
import sys

from .._C import _registry

__all__ = ["GraphBreak", "all_breaks", "as_reference_json", "lookup", "runs_here"]

SINCE = "0.1.0"  # the version that first had the codes: all so far


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
    words: str  # what people look for who mean it, besides what the texts say

    def _repr_html_(self):
        from .. import _display  # only in notebooks

        return _display.graph_break(self)


def _readable(template, args, shown="<{}>"):
    text = re.sub(r"(?<!\{)\{(\d+)\}(?!\})", lambda m: shown.format(args[int(m.group(1))]), template)
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


def as_reference_json():
    """The registry in the schema of the reference's graph_break_registry.json: a list of texts for each code."""
    found = {}
    for row in _registry.rows():
        context, explanation, *hints = (
            _readable(text, row["args"], "{{{}}}") for text in (row["context"], row["explanation"], *row["hints"])
        )
        text = {"Gb_type": row["type"], "Context": context, "Explanation": explanation, "Hints": hints}
        found.setdefault(row["code"], []).append(text)
    return found


def runs_here(found):
    """Whether a code can be raised on this CPython."""
    limit = re.fullmatch(r"(<=|>=)3\.(\d+)", found.python)
    if not limit:
        return True
    return sys.version_info[1] <= int(limit[2]) if limit[1] == "<=" else sys.version_info[1] >= int(limit[2])
