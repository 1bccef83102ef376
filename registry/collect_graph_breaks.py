"""Checks graph_breaks.toml and writes it as three include files for C++.

    python collect_graph_breaks.py graph_breaks.toml NUMBERS.inc TEXTS.inc STATUS.inc

Lines MD_BREAK(id, code, argument count), which the header includes, and lines
MD_BREAK_TEXT(id, type, context, explanation, hints, args, area, class), so that a new wording compiles one file; and
lines MD_BREAK_STATUS(code, status, why, python, words), one for each code. `words` are those that people look for.
Placeholders {name} become {index}; {{ and }} stand for braces.
"""

import re
import sys
import tomllib
from pathlib import Path

CLASSES = {
    "fundamental": "Fundamental",
    "supportable": "Supportable",
    "user_error": "UserError",
    "internal": "Internal",
}
FIELDS = {
    "code",
    "type",
    "area",
    "class",
    "args",
    "context",
    "explanation",
    "hints",
    "variant",
    "status",
    "why",
    "python",
    "words",
}
STATUSES = {"raised", "synthetic", "internal", "superseded", "unreachable"}
PLACEHOLDER = re.compile(r"\{\{|\}\}|\{(\w*)\}|[{}]")
SEPARATOR = "\x1f"  # between hints and between argument names: they are one C string each


class TableError(Exception):
    pass


def numbered(text, args, where):
    """`{name}` -> `{index}`, refusing unknown names and stray braces."""

    def one(match):
        token = match.group(0)
        if token in ("{{", "}}"):
            return token
        if match.group(1) is None or match.group(1) not in args:
            raise TableError(f"{where}: {token!r} is not one of the arguments {args}")
        return f"{{{args.index(match.group(1))}}}"

    return PLACEHOLDER.sub(one, text)


def used_names(texts):
    return {m.group(1) for text in texts for m in PLACEHOLDER.finditer(text) if m.group(1)}


def rows_of(table):
    """Flattens rows and their variants: (identifier, merged row)."""
    seen = set()
    for row in table.get("break", []):
        code = row.get("code", "")
        if not re.fullmatch(r"GB\d{4}", code):
            raise TableError(f"bad code {code!r}")
        if code in seen:
            raise TableError(f"{code}: appears twice")
        seen.add(code)
        variants = row.pop("variant", [])
        yield code, row
        for variant in variants:
            name = variant.pop("name")
            yield f"{code}_{name}", {**row, **variant}


def check(ident, row):
    unknown = row.keys() - FIELDS
    if unknown:
        raise TableError(f"{ident}: unknown fields {sorted(unknown)}")
    missing = {"type", "area", "class", "explanation"} - {k for k, v in row.items() if v}
    if missing:
        raise TableError(f"{ident}: empty {sorted(missing)}")
    if row["class"] not in CLASSES:
        raise TableError(f"{ident}: class {row['class']!r} is none of {sorted(CLASSES)}")
    if row.get("status") not in STATUSES:
        raise TableError(f"{ident}: status {row.get('status')!r} is none of {sorted(STATUSES)}")
    if (row["status"] == "raised") == bool(row.get("why")):
        raise TableError(f"{ident}: `why` belongs to codes that are not raised, and to all of them")
    if not re.fullmatch(r"((<=|>=)3\.\d+)?", row.get("python", "")):
        raise TableError(f"{ident}: `python` is like <=3.11 or >=3.12, not {row['python']!r}")
    texts = [row.get("context", ""), row["explanation"], *row.get("hints", [])]
    unused = set(row.get("args", [])) - used_names(texts)
    if unused:
        raise TableError(f"{ident}: arguments {sorted(unused)} are never used")


def c_string(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace(SEPARATOR, '\\x1f" "')
    return f'"{escaped}"'


def render(table):
    numbers, texts, statuses = [], [], []
    for ident, row in rows_of(table):
        check(ident, row)
        args = row.get("args", [])
        context = numbered(row.get("context", ""), args, ident)
        explanation = numbered(row["explanation"], args, ident)
        hints = SEPARATOR.join(numbered(h, args, ident) for h in row.get("hints", []))
        numbers.append(f"MD_BREAK({ident}, {int(row['code'][2:])}, {len(args)})")
        fields = [row["type"], context, explanation, hints, SEPARATOR.join(args), row["area"]]
        body = ", ".join(c_string(f) for f in fields)
        texts.append(f"MD_BREAK_TEXT({ident}, {body}, {CLASSES[row['class']]})")
        if ident == row["code"]:
            why, python = c_string(row.get("why", "")), c_string(row.get("python", ""))
            words = c_string(row.get("words", ""))
            statuses.append(f'MD_BREAK_STATUS({int(ident[2:])}, "{row["status"]}", {why}, {python}, {words})')
    return numbers, texts, statuses


def write(target, lines):
    """A file that would not change stays as old as it is: nothing is rebuilt."""
    text = "\n".join(["// Generated from graph_breaks.toml.", *lines, ""])
    if not target.exists() or target.read_text() != text:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def main(source, *targets):
    with open(source, "rb") as f:
        table = tomllib.load(f)
    try:
        rendered = render(table)
    except TableError as e:
        sys.exit(f"{source}: {e}")
    for target, lines in zip(targets, rendered, strict=True):
        write(Path(target), lines)


if __name__ == "__main__":
    main(*sys.argv[1:])
