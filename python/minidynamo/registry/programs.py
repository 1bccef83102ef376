"""For a code, a small program whose graph breaks with it, and the same program written so that it is one graph.

They are the scenarios the tests run, tests/graph_breaks/GBxxxx.py: a checkout reads them there, an installed package
has a copy in `examples` beside this file.
"""

import ast
import pathlib
import re
import textwrap

__all__ = ["Pair", "pair"]

HERE = pathlib.Path(__file__).resolve()
PLACES = (HERE.parent / "examples", HERE.parents[3] / "tests" / "graph_breaks")
NAME = "program"


class Pair:
    """What the program does, in a sentence; its text; the text without the break, None where there is none."""

    def __init__(self, source):
        module = ast.parse(source)
        self.about = ast.get_docstring(module) or ""
        self.before = _text(source, module, "run", whole=_is_whole(module))
        self.after = _text(source, module, "fix")


def pair(code):
    """None where there is no such program."""
    for place in PLACES:
        path = place / f"{code}.py"
        if path.is_file():
            return Pair(path.read_text(encoding="utf-8"))
    return None


def _bound(statement):
    """The names that a statement of the module gives a value, or whose objects it changes."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name).partition(".")[0] for alias in statement.names}
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    targets = [n for n in ast.walk(statement) if isinstance(getattr(n, "ctx", None), ast.Store)]
    return {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}


def _used(node):
    return {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _lines(lines, node):
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
    return "\n".join(lines[first - 1 : node.end_lineno])


def _is_whole(module):
    """Whether the code is told only where one graph is asked for: the file says WHOLE = True."""
    names = [t.id for s in module.body if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)]
    return "WHOLE" in names


def _with_torch(text, function, whole):
    """The text of `function` with what it calls `compile` spelled out."""
    lines = text.split("\n")
    called = {id(n.func): n for n in ast.walk(function) if isinstance(n, ast.Call)}
    edits = []  # (line, column, what is put there)
    for name in ast.walk(function):
        if not isinstance(name, ast.Name) or name.id != "compile":
            continue
        edits.append((name.lineno, name.col_offset, "torch."))
        call = called.get(id(name))
        if whole and call:
            edits.append((call.end_lineno, call.end_col_offset - 1, ", fullgraph=True"))
        elif whole:
            edits.append((name.end_lineno, name.end_col_offset, "(fullgraph=True)"))
    for number, at, put in sorted(edits, reverse=True):
        line = lines[number - function.lineno]
        lines[number - function.lineno] = f"{line[:at]}{put}{line[at:]}"
    return "\n".join([f"def {NAME}():", *lines[1:]])


def _text(source, module, function, whole=False):
    """The program that calls the function, with what it needs of the module."""
    lines = source.split("\n")
    root = next((s for s in module.body if isinstance(s, ast.FunctionDef) and s.name == function), None)
    if root is None:
        return None
    others = [s for s in module.body[1:] if s is not root and getattr(s, "name", "") not in ("run", "fix")]
    # Calls and decorators of the module register something, an operator for instance.
    needed = {k for k, s in enumerate(others) if isinstance(s, ast.Expr) or getattr(s, "decorator_list", None)}
    wanted = _used(root).union(*(_used(others[k]) for k in needed))
    while True:
        more = {k for k, s in enumerate(others) if k not in needed and _bound(s) & wanted}
        if not more:
            break
        needed |= more
        wanted = wanted.union(*(_used(others[k]) for k in more))
    blocks, imports = [], ["import minidynamo as torch"]
    for k in sorted(needed):
        text = _lines(lines, others[k])
        if isinstance(others[k], (ast.Import, ast.ImportFrom)):
            if text != "import torch":
                imports.append(re.sub(r"^(import|from) torch\b", r"\1 minidynamo", text))
        else:
            blocks.append(text)
    blocks.append(_with_torch(textwrap.dedent(_lines(lines, root)), root, whole))
    return "\n\n".join(["\n".join(sorted(imports)), *blocks, f"print({NAME}())"])
