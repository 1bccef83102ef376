"""What is said of names that are not here: whether torch has them, and what is nearest. Made when it is read."""

import functools
import os
import sys
from importlib import import_module
from importlib.machinery import all_suffixes

from . import _C

PACKAGE = __package__
_CLOSE = 65.0  # of 100: how much a name has to resemble another one to be meant
# Where a function may live under the very same name, in this order.
_SPACES = ("torch", "torch.Tensor", "torch.nn.functional", "torch.nn", "torch.linalg", "torch.special", "torch.nn.init")
_MISSING = object()


class AbsentText(str):
    """What Python says; as text, with what is known about the name. hasattr() does not pay for that."""

    space = name = ""

    @classmethod
    def of(cls, plain, space, name):
        """`space` as torch calls it: "torch.nn.functional", "torch.Tensor"; for a module, what it would be in."""
        made = cls(plain)
        made.space, made.name = space, name
        return made

    def __str__(self):
        try:
            known = _about(self.space, self.name)
        except Exception:  # noqa: BLE001  the text of an error must not fail: while the interpreter ends, for one
            known = ""
        plain = str.__str__(self)
        return f"{plain} ({known})" if known else plain

    def __repr__(self):
        return repr(str(self))


def absent_names(module, load=None):
    """`__getattr__` of a module that mirrors one of torch's; `load(name, missing)` finds what is imported on demand."""
    space = _torch_name(module)

    def __getattr__(name):
        if name.startswith("__") and name != "__config__":
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        if load is not None:
            found = _C._call_unhooked(load, (name, _MISSING), {})
            if found is not _MISSING:
                return found
        if _is_imported_by(sys._getframe(1)) and f"{module}.{name}" not in sys.modules:
            file = getattr(sys.modules.get(module), "__file__", None)
            plain = f"cannot import name {name!r} from {module!r}"
            raise ImportError(AbsentText.of(plain, space, name), name=module, path=file)
        raise AttributeError(AbsentText.of(f"module {module!r} has no attribute {name!r}", space, name))

    # Not traced: while a trace is made the module itself is asked. As `disable` would mark it, which is not there yet.
    __getattr__._torchdynamo_disable = True
    __getattr__._torchdynamo_disable_msg = None
    _C._mark_skip(__getattr__.__code__, False)
    return __getattr__


@functools.cache
def submodules(package):
    """Names of the modules in a package of ours. (pkgutil lists them too, but takes 7 ms to load.)"""
    endings, names = tuple(all_suffixes()), set()
    for folder in sys.modules[package].__path__:
        for entry in os.scandir(folder):
            is_package = entry.is_dir() and os.path.exists(os.path.join(entry.path, "__init__.py"))
            if is_package or entry.name.endswith(endings):
                names.add(entry.name.partition(".")[0])
    return frozenset(names - {"__init__"})


def on_demand(package, homes):
    """`load` for a package whose modules, and names by the modules in `homes`, are imported when they are asked for."""

    def load(name, missing):
        if name in submodules(package):
            return import_module(f"{package}.{name}")
        if name not in homes:
            return missing
        found = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, found)
        return found

    return load


class AbsentModules:
    """Last of sys.meta_path: says more about modules of torch that are not here than that they are not."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        first, _, rest = fullname.partition(".")
        mirrors = rest and (first == PACKAGE or (first == "torch" and sys.modules.get(first) is sys.modules[PACKAGE]))
        # Who only asks whether there is such a module gets his answer, None.
        if not mirrors or sys._getframe(2).f_code.co_name != "_find_and_load_unlocked":
            return None
        space, _, name = _torch_name(fullname).rpartition(".")
        raise ModuleNotFoundError(AbsentText.of(f"No module named {fullname!r}", space, name), name=fullname)


@functools.cache
def _import_from():
    import opcode

    return opcode.opmap["IMPORT_FROM"]


def _is_imported_by(frame):
    return frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _import_from()


def _torch_name(module):
    return f"torch{module.removeprefix(PACKAGE)}" if module.split(".")[0] == PACKAGE else module


def _table_path():
    return os.path.join(os.path.dirname(__file__), "torch_names.json")


@functools.cache
def _table():
    import json

    with open(_table_path(), encoding="utf-8") as file:
        return json.load(file)


@functools.cache
def _names_of_torch(space):
    """{name: kind}; None for what torch has no table of."""
    kinds = _table().get(space)
    inside = [m for m in _table()["modules"].split() if m.rpartition(".")[0] == space]
    if not isinstance(kinds, dict) and not inside:
        return None
    found = {module.rpartition(".")[2]: "module" for module in inside}
    for kind, names in (kinds if isinstance(kinds, dict) else {}).items():
        found |= dict.fromkeys(names.split(), kind)
    return found


def _names_here(space):
    owner = sys.modules.get(PACKAGE + space.removeprefix("torch"))
    if space == "torch.Tensor":
        owner = sys.modules[PACKAGE].Tensor
    theirs = _names_of_torch(space) or {}
    return [
        name
        for name in dir(owner)
        if not name.startswith("_")
        and _is_own(part := getattr(owner, name, None))
        # Files of this package that mirror none of torch's.
        and (name in theirs or not isinstance(part, type(sys)))
    ]


def answer_tensors():
    """Tells the type Tensor which names torch's has."""
    _C._set_absent_names(_tensor_names(), lambda plain, name: AbsentText.of(plain, "torch.Tensor", name), AbsentText)


def _tensor_names():
    """Without a JSON parser, which would take longer than all the rest: the strings of that row but for its keys."""
    with open(_table_path(), encoding="utf-8") as file:
        row = next(line for line in file if line.startswith('"torch.Tensor"'))
    return [name for names in row.split('"')[5::4] for name in names.split()]


def answer_imports():
    """Puts AbsentModules where it is asked last."""
    if AbsentModules not in sys.meta_path:
        sys.meta_path.append(AbsentModules)


def _is_own(thing):
    """Not what a module of ours has imported for its own use."""
    home = getattr(thing, "__name__" if isinstance(thing, type(sys)) else "__module__", None)
    return not isinstance(home, str) or home.partition(".")[0] in (PACKAGE, "builtins")


def _about(space, name):
    there, whole = _names_of_torch(space), f"{space}.{name}"
    said = []
    if there is not None:
        version = f"torch {_table()['version']}"
        kind = there.get(name)
        said.append(
            f"{whole}, a {kind} of {version}, is not part of minidynamo" if kind else f"{version} has no {whole} either"
        )
    near = _nearest(space, name, elsewhere=there is None or there.get(name) != "module")
    if near:
        said.append(f"nearest: {near}")
    return "; ".join(said)


def _nearest(space, name, elsewhere):
    """The name here that was meant most likely, as torch spells it; or None."""
    for other in _SPACES if elsewhere else ():
        if other != space and name in _names_here(other):
            return f"{other}.{name}"
    try:
        from rapidfuzz import fuzz, process
    except ImportError:
        return None
    found = process.extractOne(name, _names_here(space), scorer=fuzz.ratio, score_cutoff=_CLOSE)
    return f"{space}.{found[0]}" if found else None
