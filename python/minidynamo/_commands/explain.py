"""`explain`: what a graph-break code means, found by its number, by words, or in a message, a log or a report."""

import dataclasses
import json
import os
import re
import sys
import textwrap

from .printed import paragraph

KINDS = {
    "fundamental": "no tracer can put this into a graph; the program has to be written differently",
    "supportable": "could be traced, but is not",
    "user_error": "plain Python fails here as well, or the API is used in a way it does not allow",
    "internal": "a defect of minidynamo",
}
STATUSES = {
    "raised": "raised by this compiler",
    "synthetic": "raised only with a setting for tests",
    "internal": "never raised: it is about a state this tracer cannot be in. Where it is seen, that is a defect: "
    "please report the program with what TORCHDYNAMO_VERBOSE=1 prints",
    "superseded": "not raised: what it is about is traced",
    "unreachable": "not raised: what it is about is not here",
}
CODE = re.compile(r"(?<![A-Za-z0-9])GB(\d{1,4})(?!\d)", re.IGNORECASE)  # "GB0170", ".../gb/gb0170.html", "GB170x"
_LONGEST = 1 << 20  # characters that are read of a text


def add_to(commands):
    """The parser of the command."""
    sub = commands.add_parser("explain", help="what a graph break means and how to avoid it")
    sub.add_argument("--list", action="store_true", help="all codes and their titles")
    sub.add_argument(
        "--area", metavar="AREA", help="all codes of an area (control-flow, tensors, ...) and their titles"
    )
    how = sub.add_mutually_exclusive_group()
    how.add_argument("--fix", action="store_true", help="a program that breaks so, and how it is written without")
    how.add_argument("--run", action="store_true", help="run that program, and show what is said of its break")
    how.add_argument("--json", action="store_true", help="the answer as JSON")
    sub.add_argument(
        "words",
        nargs="*",
        metavar="WHAT",
        help="GB0124; a line of a log or an address that names a code; words or a line of code to look for; a file "
        "that `run --report` or MINIDYNAMO_TRACE has written; - or nothing: a traceback or log on the standard input",
    )
    return sub


# ---- one code ----------------------------------------------------------------------------------------------------


def page(found):
    """All texts of one code."""
    from .._dynamo import message

    first = found[0]
    lines = [f"{first.code}  {first.type}", "", f"  Area: {first.area}", paragraph(f"Kind: {KINDS[first.kind]}")]
    lines.append(paragraph(f"Status: {STATUSES[first.status]}{'. ' + first.why if first.why else ''}"))
    if first.python:
        lines.append(
            paragraph(f"Only on CPython {first.python}: others have no such instruction, or take another way.")
        )
    for b in found:
        case = b.id.partition("_")[2].replace("_", " ")
        lines += ["", f"What happened{f' ({case})' if case else ''}", paragraph(b.explanation)]
        if b.hints:
            lines += ["", "What to do", *(paragraph(hint, "  - ", "    ") for hint in b.hints)]
    if first.context:
        lines += ["", "Debug context", paragraph(first.context)]
    if first.status == "raised":
        lines += ["", f"Programs with and without it: python -m minidynamo explain --fix {first.code}"]
        lines += [f"What is said of one that runs:  python -m minidynamo explain --run {first.code}"]
    if message.is_published(int(first.code[2:])):
        lines += ["", f"See {message.link(int(first.code[2:]))}"]
    return "\n".join(lines)


def _pair(first):
    """(what is printed first, the programs or None)"""
    from ..registry import programs

    lines, shown = [f"{first.code}  {first.type}", ""], programs.pair(first.code)
    if shown is None:
        reason = f": {STATUSES[first.status]}" if first.status != "raised" else ""
        lines.append(paragraph(f"There is no program for this code{reason}."))
    elif first.python:
        lines += [paragraph(f"Only on CPython {first.python}: others run the first program without this break."), ""]
    return lines, shown


def fixes(found):
    """A program that breaks with a code, and the same one without the break: its graph, and what both take."""
    from . import live

    lines, shown = _pair(found[0])
    if shown is None:
        return "\n".join(lines)
    lines += [paragraph(f"Breaks. {shown.about}"), "", textwrap.indent(shown.before, "    ")]
    if shown.after is None:
        return "\n".join(lines)
    graphs = live.Ran(shown.after, found[0].code).graphs()
    lines += ["", f"  {'One graph' if len(graphs) == 1 else f'{len(graphs)} graphs'}:", ""]
    lines += [textwrap.indent(shown.after, "    ")]
    for text in graphs:
        lines += ["", textwrap.indent(_graph(text), "    ")]
    before, after = live.best_time(shown.before), live.best_time(shown.after)
    if before and after:
        lines += [
            "",
            f"  A call of program() takes {before * 1e6:.1f} us with the break, {after * 1e6:.1f} us without.",
        ]
    return "\n".join(lines)


def _graph(text):
    """The code of a graph without its header and empty lines."""
    at = text.find("def forward")
    return textwrap.dedent("    " + text[at:]).rstrip() if at >= 0 else text


def seen(found):
    """What the program of a code prints and what is said of its breaks, when it runs."""
    from . import live

    lines, shown = _pair(found[0])
    if shown is None:
        return "\n".join(lines), 1
    ran = live.Ran(shown.before, found[0].code)
    lines += [textwrap.indent(shown.before, "    ")]
    told = ran.breaks()
    for event in told:
        lines += ["", f"  It breaks ({event['outcome']}):", "", textwrap.indent(live.message_of(event), "    ")]
    if not told:
        lines += ["", "  No break was met."]
    if ran.output:
        lines += ["", "  It prints:", "", textwrap.indent(ran.output.rstrip(), "    ")]
    return "\n".join(lines), 0 if any(e["code"] == found[0].code for e in told) else 1


def _explain_code(code, args):
    from .. import registry

    try:
        found = registry.lookup(code)
    except KeyError:
        last = registry.all_breaks()[-1].code
        return f"{code} is not in the registry: the codes are GB0000 to {last}. Words search the texts.", 2
    if args.run:
        return seen(found)
    return (fixes if args.fix else page)(found), 0


# ---- what is asked -----------------------------------------------------------------------------------------------


def codes_in(text):
    """The codes a text names: bare numbers where there is nothing else, else what looks like a code."""
    words = [w for w in re.split(r"[\s,]+", text) if w]
    if words and all(re.fullmatch(r"(GB)?\d+", w, re.IGNORECASE) for w in words):
        return words
    return list(dict.fromkeys(f"GB{number:0>4}" for number in CODE.findall(text)))


def _titles(rows):
    return "\n".join(f"{b.code}  {b.type}" for b in rows if b.id == b.code)


def _of_area(area):
    from .. import registry

    rows = [b for b in registry.all_breaks() if b.area == area]
    if rows:
        return _titles(rows), 0
    return f"There is no area {area!r}: {', '.join(sorted({b.area for b in registry.all_breaks()}))}.", 1


def _records(path):
    """[(times, code, file, line, title)] of what `run --report` or MINIDYNAMO_TRACE wrote; None: it is neither."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = file.read(_LONGEST * 64).splitlines()
        rows = [json.loads(line) for line in lines if line.strip()]
    except (OSError, ValueError):
        return None
    if len(rows) == 1 and isinstance(rows[0], dict) and "places" in rows[0]:
        return [(p["times"], p["code"], p["file"], p["line"], p["title"]) for p in rows[0]["places"]]
    if not rows or any(not isinstance(row, dict) or "kind" not in row for row in rows):
        return None
    counts = {}
    for row in rows:
        if row["kind"] == "break":
            last = row["stack"][-1] if row["stack"] else {"file": "?", "line": 0}
            key = (row["code"], last["file"], last["line"], row["type"])
            counts[key] = counts.get(key, 0) + 1
    return [(times, *key) for key, times in counts.items()]


def _of_file(path, as_json):
    """What a report tells, the most frequent break first; None if the file is none."""
    records = _records(path) if os.path.isfile(path) else None
    if records is None:
        return None
    records.sort(key=lambda row: (-row[0], row[1] or "", row[2], row[3]))
    if as_json:
        names = ("times", "code", "file", "line", "title")
        return json.dumps([dict(zip(names, row)) for row in records], indent=1), 0
    if not records:
        return "No graph breaks.", 0
    lines = [f"{times:5}x  {code or '-':6}  {file}:{line}  {title}" for times, code, file, line, title in records]
    first = next((code for _, code, *_ in records if code), None)
    if first:
        lines += ["", f"python -m minidynamo explain {first} shows the first one in full."]
    return "\n".join(lines), 0


def _found(text, as_json):
    from .. import registry
    from ..registry.search import search

    exact = [b for b in registry.all_breaks() if b.type.lower() == text.lower()]
    rows = exact or search(text)
    if as_json:
        return json.dumps([dataclasses.asdict(b) for b in rows], indent=1), 0 if rows else 1
    if exact:
        return page(exact), 0
    if not rows:
        return f"Nothing in the registry matches {text[:200]!r}.", 1
    lines = [f"{b.code}  {b.type}" for b in rows]
    return "\n".join([*lines, "", f"python -m minidynamo explain {rows[0].code} shows the first one in full."]), 0


def _is_terminal():
    """Nobody has put anything on the standard input."""
    try:
        return sys.stdin.isatty()
    except (AttributeError, ValueError):
        return True


def _standard_input():
    """Its text, as far as it can be read."""
    try:
        return sys.stdin.read(_LONGEST).strip()
    except (AttributeError, OSError, ValueError):  # there is none, it is closed, or holds no text
        return ""


def answer(args):
    """Text to print and exit status; None: nothing was asked."""
    from .. import registry

    if args.list:
        return _titles(registry.all_breaks()), 0
    if args.area:
        return _of_area(args.area)
    text = " ".join(args.words).strip()
    if text == "-" or not (args.words or _is_terminal()):
        text = _standard_input()
    if not text:
        return None
    if of_file := _of_file(text, args.json):
        return of_file
    if text.endswith((".json", ".jsonl")) and not codes_in(text):
        return f"{text} is no file that `run --report` or MINIDYNAMO_TRACE has written.", 2
    codes = codes_in(text)
    if not codes:
        return _found(text, args.json)
    if args.json:
        rows = [b for b in registry.all_breaks() if b.code in {f"GB{c.upper().removeprefix('GB'):0>4}" for c in codes}]
        return json.dumps([dataclasses.asdict(b) for b in rows], indent=1), 0 if rows else 2
    answers = [_explain_code(code, args) for code in codes]
    return "\n\n".join(shown for shown, _ in answers), max(status for _, status in answers)
