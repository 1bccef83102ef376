"""`explain`: what a graph-break code means, found by its number, by words, or in a message, a log or a report."""

import argparse
import collections
import dataclasses
import glob
import json
import os
import re
import sys
import textwrap
import urllib.parse

from .printed import harmless, paragraph, reason_of

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
_MOST_PARTS = 256  # of that length
_LONGEST_PATH = 4096
_EPILOG = """\
examples:
  python -m minidynamo explain GB0170
  python -m minidynamo explain 'if x.sum() > 0'
  python train.py 2>&1 | python -m minidynamo explain
  python -m minidynamo explain --fix GB0170
  MINIDYNAMO_TRACE=events python train.py; python -m minidynamo explain events

exit status: 0 answered; 1 nothing found, or the answer cannot be written; 2 wrong usage, no such code or file
"""
STYLES = (
    (r"\bGB\d{4}\b", "bold cyan"),
    (r"(?<=^GB\d{4}  ).+$", "bold"),
    (r"^(What happened|What to do|Debug context|It breaks|It prints).*$", "bold"),
    (r"^  - .+$", "green"),
    (r"^    (?=\S).+$", "green"),
    (r"`[^`\n]+`", "yellow"),
    (r"https?://\S+", "underline"),
)


def add_to(commands):
    """The parser of the command."""
    sub = commands.add_parser(
        "explain", help="what a graph break means and how to avoid it", epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
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
        help="GB0124; a line of a log or an address that names a code; words or a line of code to look for; a log, or "
        "what `run --report`, `check --json` or MINIDYNAMO_TRACE has written; - or nothing: a traceback or log on the "
        "standard input",
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


def _rows_of_file(path):
    """The JSON values of its lines, cut-off ones left out; None: it holds none."""
    with open(path, encoding="utf-8", errors="replace") as file:
        text = file.read(_LONGEST * 64)
    rows = []
    if text.startswith("{\n"):  # one object over many lines
        text = " ".join(text.splitlines())
    for line in filter(str.strip, text.splitlines()):
        try:
            rows.append(json.loads(line))
        except (ValueError, RecursionError):
            continue
    return rows or None


def _place_of_event(row):
    last = row["stack"][-1] if row["stack"] else {"file": "?", "line": 0}
    return (row["code"] and harmless(row["code"], 20), harmless(last["file"]), int(last["line"]), harmless(row["type"]))


def _records(path):
    """[(times, code, file, line, title)] of what `run --report`, `check --json` or MINIDYNAMO_TRACE wrote, a folder
    of it too; None: it is none of these."""
    paths = sorted(glob.glob(os.path.join(glob.escape(path), "*.jsonl"))) if os.path.isdir(path) else [path]
    rows = [row for each in paths for row in _rows_of_file(each) or ()]
    try:
        if len(rows) == 1 and isinstance(rows[0], dict) and "places" in rows[0]:
            return [
                (int(p["times"]), p["code"] and harmless(p["code"], 20), harmless(p["file"]), int(p["line"]),
                 harmless(p["title"])) for p in rows[0]["places"]
            ]  # fmt: skip
        if len(rows) == 1 and isinstance(rows[0], dict) and "findings" in rows[0]:
            return [
                (int(f["times"]), f["rule"] if codes_in(f["rule"]) else None, harmless(f["file"]), int(f["line"]),
                 harmless(f["title"])) for f in rows[0]["findings"]
            ]  # fmt: skip
        if not rows or any(not isinstance(row, dict) or "kind" not in row for row in rows):
            return None
        counts = collections.Counter(_place_of_event(row) for row in rows if row["kind"] == "break")
    except (AttributeError, KeyError, IndexError, TypeError, ValueError):
        return None
    return [(times, *key) for key, times in counts.items()]


def _of_file(path, as_json):
    """What a report tells, the most frequent break first; None if there is no such file, or it is another text."""
    try:
        if not (os.path.isfile(path) or os.path.isdir(path)):
            return None
        records = _records(path)
    except (OSError, ValueError) as error:
        return f"{harmless(path, 500)} cannot be read: {reason_of(error)}", 2
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


def _is_title(title, text):
    """Whether a text is a title, or an address that ends in one."""
    title, said = (" ".join(re.findall("[a-z0-9]+", t.lower())) for t in (title, urllib.parse.unquote(text[:1000])))
    return said == title or ("://" in text and said.endswith(f" {title}"))


def _found(text, as_json):
    from .. import registry
    from ..registry.search import search

    exact = [b for b in registry.all_breaks() if _is_title(b.type, text)]
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


def _text_of(file):
    """Of a long log the beginning, and the codes of the rest; as far as it can be read."""
    text, codes, last = "", [], ""
    try:
        text = last = file.read(_LONGEST)
        for _ in range(_MOST_PARTS):
            if not (part := file.read(_LONGEST)):
                break
            codes += [f" GB{number}" for number in CODE.findall(last[-8:] + part)]
            last = part
    except (AttributeError, OSError, ValueError):  # there is none, it is closed, or holds no text
        pass
    return (text + "".join(dict.fromkeys(codes))).strip()


def _codes_of_log(path):
    """The codes that a file with a log or a traceback names, as a text; "" if there are none."""
    try:
        if not os.path.isfile(path):
            return ""
        with open(path, encoding="utf-8", errors="replace") as file:
            return " ".join(codes_in(_text_of(file)))
    except (OSError, ValueError):
        return ""


def _of_path(text, as_json):
    """(answer or None, the text to explain otherwise) of what may be a path: a report, a log, or words after all."""
    if len(text) > _LONGEST_PATH or "\0" in text:
        return None, text
    if answer := _of_file(text, as_json):
        return answer, text
    if codes := _codes_of_log(text):
        return None, codes
    if codes_in(text):
        return None, text
    if os.path.isfile(text) or (os.path.isdir(text) and os.sep in text):
        return (
            f"{harmless(text, 500)} names no code, and is nothing that `run --report` or MINIDYNAMO_TRACE writes.",
            2,
        ), text
    if text.endswith((".json", ".jsonl", ".log")):
        return (f"There is no file {harmless(text, 500)}.", 2), text
    return None, text


def answer(args):
    """Text to print and exit status; None: nothing was asked."""
    from .. import registry

    if args.list:
        return _titles(registry.all_breaks()), 0
    if args.area:
        return _of_area(args.area)
    text = " ".join(args.words).strip()
    if text == "-" or not (args.words or _is_terminal()):
        text = _text_of(sys.stdin)
    if not text:
        return None
    answered, text = _of_path(text, args.json)
    if answered:
        return answered
    codes = codes_in(text)
    if not codes:
        return _found(text, args.json)
    if args.json:
        rows = [b for b in registry.all_breaks() if b.code in {f"GB{c.upper().removeprefix('GB'):0>4}" for c in codes}]
        return json.dumps([dataclasses.asdict(b) for b in rows], indent=1), 0 if rows else 2
    answers = [_explain_code(code, args) for code in codes]
    return "\n\n".join(shown for shown, _ in answers), max(status for _, status in answers)
