"""The API pages: names, what they take and lack from docs/api.md, what they do from their docstrings."""

import importlib
import inspect
import re

from markupsafe import Markup

from . import documents

_CELL = re.compile(r"(?<!\\)\|")
_NAME = re.compile(r"`(\w+)`$")
_HAS_HEAD = re.compile(r"^[\w.]+\(.*\)( -> .*)?$")


class Entry:
    """One name."""

    def __init__(self, name, signatures, dtypes, lacks, text):
        self.name, self.signatures, self.dtypes, self.lacks, self.text = name, signatures, dtypes, lacks, text


class Space:
    """A module, or the methods of tensors: `entries`, or a `body` where its part of the table is of another kind."""

    def __init__(self, name, about=""):
        self.name, self.about, self.entries, self.body = name, about, [], Markup("")
        self.file = f"{name.lower().replace(' ', '-')}.html"


def _owner(name):
    """The module or class whose names a part of the table lists; None: there is none."""
    path = name.removeprefix("torch").lstrip(".")
    try:
        if path == "Tensor":
            return importlib.import_module("minidynamo").Tensor
        return importlib.import_module(f"minidynamo.{path}" if path else "minidynamo")
    except ImportError:
        return None


def _docstring(owner, name):
    thing = getattr(owner, name, None)
    doc = inspect.getdoc(thing) if callable(thing) or isinstance(owner, type) else None
    parts = (doc or "").split("\n\n")
    return "\n\n".join(part for part in parts if not _HAS_HEAD.match(" ".join(part.split())))


def _entry(owner, cells):
    name = _NAME.match(cells[0])[1]
    signatures = [re.sub(r"^`|`$", "", part.strip()) for part in cells[1].split("<br>") if part.strip()]
    text = _docstring(owner, name) if owner is not None else ""
    return Entry(name, [s.replace("\\|", "|") for s in signatures], cells[2], cells[3], text or cells[4])


def _space(name, lines):
    owner = _owner(name)
    space = Space(name, (inspect.getdoc(owner) or "") if inspect.ismodule(owner) else "")
    rows = [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines if line.startswith("| `")]
    if rows and all(len(row) == 5 and _NAME.match(row[0]) for row in rows):
        space.entries = [_entry(owner, row) for row in rows]
    else:
        space.about, space.body = "", documents.rendered("\n".join(lines))
    return space


def spaces(top=documents.TOP):
    """The parts of docs/api.md, an introduction first; none where the file is not there."""
    path = top / "docs/api.md"
    if not path.is_file():
        return []
    head, *parts = re.split(r"^## +", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    introduction = Space("The API")
    introduction.file = "index.html"
    introduction.body = documents.rendered(re.sub(r"^# .*\n", "", head))
    found = [_space(part.partition("\n")[0].strip(), part.split("\n")[1:]) for part in parts]
    listed = Markup("").join(
        Markup('<li><a href="{}">{}</a>{}</li>').format(
            space.file, space.name, f" ({len(space.entries)} names)" if space.entries else ""
        )
        for space in found
    )
    introduction.body += Markup("<h2>Modules</h2><ul>{}</ul>").format(listed)
    return [introduction, *found]
