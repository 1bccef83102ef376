"""The API pages: names, what they take and lack from docs/api.md, what they do from their docstrings.

Modules of torch that the table there leaves out, and names that are imported when they are asked for, come from the
list of torch's names: what of them is here, with its own signature.
"""

import importlib
import inspect
import json
import re
import warnings
from pathlib import Path

from markupsafe import Markup

from . import documents

_TORCH_NAMES = Path(__file__).resolve().parents[1] / "torch_names.json"

_FEW = 3  # names: a module with fewer has no page of its own
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


class _Further:
    """What is here of torch's names, besides those that the table lists."""

    def __init__(self, top):
        names = json.loads(_TORCH_NAMES.read_text(encoding="utf-8"))
        self._names = {
            space: {name for kind in kinds.values() for name in kind.split() if not name.startswith("_")}
            for space, kinds in names.items()
            if isinstance(kinds, dict) and space.startswith("torch")
        }
        parameters = top / "tools/torch_parameters.json"
        self._parameters = json.loads(parameters.read_text(encoding="utf-8")) if parameters.is_file() else {}
        self._shown = set()  # ids of objects that have their place

    def shown(self, space, names):
        """The table has these names of a module."""
        owner = _owner(space)
        self._shown |= {id(getattr(owner, name, None)) for name in names}

    def entries(self, space):
        """Those of a module which are shown nowhere else."""
        owner, found = _owner(space), []
        if not inspect.ismodule(owner):
            return found
        for name in sorted(self._names.get(space, ()), key=lambda name: (name.lower(), name)):
            thing = getattr(owner, name, None)
            if callable(thing) and not inspect.ismodule(thing) and id(thing) not in self._shown and _is_ours(thing):
                self._shown.add(id(thing))
                found.append(self._entry(space, owner, name, thing))
        return found

    def _entry(self, space, owner, name, thing):
        try:
            signature = _signature(thing)
        except (TypeError, ValueError):
            return Entry(name, [name], "", "", _docstring(owner, name))
        kinds = {parameter.kind for parameter in signature.parameters.values()}
        known = self._parameters.get(f"{space}.{name}".removeprefix("torch."), ())
        lacks = [each for each in known if each not in signature.parameters and each not in ("input", "args", "kwargs")]
        if inspect.Parameter.VAR_KEYWORD in kinds:
            lacks = []
        head = name + re.sub(r" at 0x\w+", "", str(signature))
        return Entry(name, [head], "", ", ".join(f"`{each}`" for each in lacks), _docstring(owner, name))

    def modules(self, but):
        """Public modules that are here, those nearer to the top first."""
        public = [space for space in self._names if not re.search(r"\._", space) and space not in but]
        return sorted(public, key=lambda space: (space.count("."), space))


def _signature(thing):
    """That of a function; of one that linalg.arguments.takes_out has wrapped, with what it takes besides `out`."""
    signature = inspect.signature(thing)
    names = getattr(getattr(thing, "__code__", None), "co_freevars", ())
    if list(signature.parameters) != ["args", "out", "kwargs"] or "function" not in names:
        return signature
    inner = thing.__closure__[names.index("function")].cell_contents
    own = inspect.signature(inner)
    return own.replace(parameters=[*own.parameters.values(), signature.parameters["out"]])


def _is_ours(thing):
    module = getattr(thing, "__module__", None) or ""
    return module.startswith("minidynamo") or type(thing).__name__.startswith("op_")


def _is_python_s(owner, name):
    """Whether a name is a class of Python itself that a module happens to have."""
    thing = getattr(owner, name, None)
    return isinstance(thing, type) and not _is_ours(thing) and owner is not None


def _further_spaces(top, found):
    """Adds to the modules of the table what it leaves out; the modules it does not have."""
    further = _Further(top)
    for space in found:
        further.shown(space.name, [entry.name for entry in space.entries])
    for space in found:
        if space.entries:
            space.entries += further.entries(space.name)
            space.entries.sort(key=lambda entry: (entry.name.lower(), entry.name))
    more, rest = [], Space("Further names", "Names of modules that have few of their own.")
    for name in further.modules({space.name for space in found}):
        entries = further.entries(name)
        if len(entries) >= _FEW:
            more.append(Space(name, inspect.getdoc(_owner(name)) or ""))
            more[-1].entries = entries
        for entry in entries if len(entries) < _FEW else ():
            entry.name = f"{name}.{entry.name}"
            rest.entries.append(entry)
    return [*more, *([rest] if rest.entries else [])]


def _space(name, lines):
    owner = _owner(name)
    space = Space(name, (inspect.getdoc(owner) or "") if inspect.ismodule(owner) else "")
    rows = [[cell.strip() for cell in _CELL.split(line)[1:-1]] for line in lines if line.startswith("| `")]
    if rows and all(len(row) == 5 and _NAME.match(row[0]) for row in rows):
        space.entries = [entry for entry in (_entry(owner, row) for row in rows) if not _is_python_s(owner, entry.name)]
    else:
        space.about, space.body = "", documents.rendered("\n".join(lines))
    return space


def _order(space):
    """Modules by name, then what is no module."""
    return not space.name.startswith("torch") or not space.entries, "._" in space.name, space.name


def spaces(top=documents.TOP):
    """The parts of docs/api.md, an introduction first; none where the file is not there."""
    path = top / "docs/api.md"
    if not path.is_file():
        return []
    head, *parts = re.split(r"^## +", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    introduction = Space("The API")
    introduction.file = "index.html"
    head = re.sub(r"^# .*\n|, written by `[^`]*`; do not edit", "", head)  # that is for who looks at the file
    introduction.body = documents.rendered(head)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that are here to say that they are old
        found = [_space(part.partition("\n")[0].strip(), part.split("\n")[1:]) for part in parts]
        more = _further_spaces(top, found)
    found = sorted(found[:2], key=lambda space: space.name) + sorted(found[2:] + more, key=_order)
    listed = Markup("").join(
        Markup('<li><a href="{}">{}</a>{}</li>').format(
            space.file, space.name, f" ({len(space.entries)} names)" if space.entries else ""
        )
        for space in found
    )
    introduction.body += Markup("<h2>Modules</h2><ul>{}</ul>").format(listed)
    return [introduction, *found]
