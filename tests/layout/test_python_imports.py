"""The package's modules import each other in one direction only, and each of them can be the first that is imported."""

import ast
import json
import os
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "python/minidynamo"


def modules():
    """Dotted name to file. That of a package stands for its __init__.py."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        parts = ("minidynamo", *path.relative_to(PACKAGE).with_suffix("").parts)
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def absolute(node, package):
    """The module a `from` statement names."""
    if not node.level:
        return node.module
    above = package.split(".")[: len(package.split(".")) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def imported(source, package, known):
    """Modules among `known` that a source imports anywhere, in functions too. The extension `_C` is not among them."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & set(known)
        elif isinstance(node, ast.ImportFrom):
            base = absolute(node, package)
            for alias in node.names:
                if f"{base}.{alias.name}" in known:
                    found.add(f"{base}.{alias.name}")
                elif base in known and alias.name != "_C":
                    found.add(base)
    return found


def circles(arrows):
    """Sets of modules that reach each other, by Tarjan's algorithm."""
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in sorted(arrows[module]):
            if target not in index:
                visit(target)
            if target in stack:
                low[module] = min(low[module], low[target])
        if low[module] == index[module]:
            at = stack.index(module)
            circle = stack[at:]
            del stack[at:]
            if len(circle) > 1 or module in arrows[module]:
                found.append(sorted(circle))

    for module in sorted(arrows):
        if module not in index:
            visit(module)
    return found


def test_no_circle():
    known = modules()
    arrows = {}
    for name, path in known.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        arrows[name] = imported(path.read_text(encoding="utf-8"), package, known) - {name}
    assert sum(map(len, arrows.values())) > 100
    assert circles(arrows) == []


@pytest.mark.parametrize(
    "sources, wanted",
    [
        ({"p": "", "p.a": "from . import b", "p.b": "from .a import x"}, [["p.a", "p.b"]]),
        ({"p": "from . import a", "p.a": "def f():\n    from . import thing"}, [["p", "p.a"]]),
        ({"p": "from . import a", "p.a": "from .. import p"}, []),
        ({"p": "", "p.a": "import p.b", "p.b": "import p.c", "p.c": "from p import a"}, [["p.a", "p.b", "p.c"]]),
        ({"p": "from ._C import *", "p.a": "from . import _C"}, []),
    ],
)
def test_circles_are_found(sources, wanted):
    arrows = {n: imported(text, n if n == "p" else "p", sources) - {n} for n, text in sources.items()}
    assert circles(arrows) == wanted


# A process of its own for each module, forked from one that has imported nothing of ours.
FIRST = """
import importlib, json, os, sys
failed = {}
for name in json.loads(sys.argv[1]):
    read, write = os.pipe()
    if os.fork() == 0:
        try:
            importlib.import_module(name)
        except BaseException as error:
            os.write(write, repr(error).encode())
        os._exit(0)
    os.close(write)
    with open(read) as said:
        text = said.read()
    os.wait()
    if text:
        failed[name] = text
print(json.dumps(failed))
"""


@pytest.mark.timeout(420)  # six hundred processes
def test_every_module_can_be_imported_first():
    names = sorted(name for name in modules() if not name.endswith("__main__"))
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(
        [sys.executable, "-c", FIRST, json.dumps(names)], env=env, capture_output=True, text=True, timeout=400
    )
    assert done.returncode == 0, done.stderr
    # What writes files of another package needs that package.
    missing = {
        name: f"ModuleNotFoundError(\"No module named '{name.split('.')[2]}'\")"
        for name in names
        if ".tensorboard" in name
    }
    failed = json.loads(done.stdout)
    assert {name: text for name, text in failed.items() if missing.get(name) != text} == {}
