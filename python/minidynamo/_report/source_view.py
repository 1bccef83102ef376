"""The source of a function with marks on the lines that broke, and times in the margin."""

from .words import duration, many

_MOST_LINES = 160
_AROUND = 6  # lines that are shown around a mark of a long function


def source_rows(function, model, sources, budget, links, kernel_times):
    """Rows of the table: lines with number, cost, code, kind and marks; gaps. `links`: what a mark can
    lead to; `kernel_times`: {(file, line): seconds}.
    """
    lines = sources.lines(function["file"])
    marks = _marks(function, model)
    first, last = function["line"] or min(marks, default=1), function["last"]
    if not lines or last is None:
        rows = [(number, sources.line(function["file"], number)) for number in sorted(marks) if number]
    else:
        rows = [(number, lines[number - 1]) for number in range(first, min(last, len(lines)) + 1)]
    shown = _near_marks([number for number, _ in rows], marks)
    coloured = _coloured([text for _, text in rows])
    found, before = [], first - 1
    for (number, text), code in zip(rows, coloured):
        if number not in shown:
            continue
        if before + 1 < number:
            found.append({"gap": many(number - before - 1, "line")})
        before = number
        told = marks.get(number, {"marks": [], "seconds": None})
        computed = kernel_times.get((function["file"], number))
        indent = text[: len(text) - len(text.lstrip())]
        rest, cut = budget.cut(text, 600)
        found.append(
            {"gap": "", "number": number, "cost": duration(told["seconds"]) if told["seconds"] else "",
             "computed": f"≈ {duration(computed)}" if computed else "",
             "code": rest if cut or code is None else code, "kind": told["marks"][0]["kind"] if told["marks"] else "",
             "marks": [
                 {**mark, "indent": indent[:40], "anchor": mark["anchor"] if mark["anchor"] in links else ""}
                 for mark in told["marks"][:20]
             ]}
        )  # fmt: skip
    return found


def _marks(function, model):
    """{line: {"marks": [...], "seconds": what breaks there took}}"""
    marks = {}
    at = lambda line: marks.setdefault(line, {"marks": [], "seconds": 0.0})  # noqa: E731
    breaks, recompiles = set(function["breaks"]), set(function["recompiles"])
    for met in model["breaks"]:
        if met["id"] in breaks:
            row = at(met["line"])
            times = f"broke {many(met['runs'], 'time')}" if met["runs"] else "breaks the graph"
            row["marks"].append({"kind": "break", "text": f"{met['code'] or ''} {times}: {met['title']}".strip(),
                                 "anchor": met["id"]})  # fmt: skip
            row["seconds"] += met["own_seconds"]
    for each in model["recompiles"]:
        if each["id"] in recompiles:
            name = each["place"] or each["guard"]
            name = f"what a break hands on (`{name}`)" if name.startswith("___stack") else f"`{name}`"
            what = f"compiled again {many(each['times'], 'time')}: {name} changed"
            at(function["line"])["marks"].append({"kind": "recompile", "text": what, "anchor": each["id"]})
    if function["plain_calls"]:
        what = f"{many(function['plain_calls'], 'call')} ran as plain Python, {duration(function['plain_seconds'])}"
        at(function["line"])["marks"].append({"kind": "plain", "text": what, "anchor": ""})
    return marks


def _near_marks(numbers, marks):
    if len(numbers) <= _MOST_LINES:
        return set(numbers)
    wanted, near = [n for n in numbers if n in marks] or numbers[:1], set(numbers[:3])
    for number in wanted:
        near.update(range(number - _AROUND, number + _AROUND + 1))
        if len(near) > _MOST_LINES:
            break
    return near


def _coloured(lines):
    """The lines as safe markup; None for each where pygments is missing, or does not see the same lines."""
    try:
        from markupsafe import Markup
        from pygments import highlight
        from pygments.formatters import HtmlFormatter
        from pygments.lexers import PythonLexer
    except ImportError:
        return [None] * len(lines)
    if sum(map(len, lines)) > 200_000:
        return [None] * len(lines)
    text = highlight("\n".join(lines), PythonLexer(stripnl=False, ensurenl=False), HtmlFormatter(nowrap=True))
    rows = text.split("\n")
    return (
        [Markup(row) for row in rows[: len(lines)]]
        if len(rows) in (len(lines), len(lines) + 1)
        else [None] * len(lines)
    )
