"""Writes docs/api.md: every name of torch that is here, what it takes, and what it lacks of torch's parameters.

    .venv/bin/python tools/api_table.py [--check]

Ops come from the op table, everything else from the package's modules and their docstrings; torch's parameters from
tools/torch_parameters.json. --check writes nothing and fails if the file is not what would be written.
"""

import importlib
import inspect
import json
import os
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "tests")]
for name in [n for n in os.environ if n.startswith("MINIDYNAMO_")]:  # the table shows settings as they are without
    del os.environ[name]

import minidynamo as torch  # noqa: E402
from tensor.drawn_calls import OPS, call_of, function_of, is_public  # noqa: E402
from tensor.op_calls import operands  # noqa: E402

TARGET = ROOT / "docs/api.md"
FACTS = json.loads((ROOT / "tools/torch_parameters.json").read_text())
SPACES = (
    "", "Tensor", "linalg", "special", "nn", "nn.functional", "nn.init", "nn.parameter", "nn.utils", "autograd",
    "autograd.function", "compiler", "_dynamo", "_dynamo.comptime", "_dynamo.testing", "_dynamo.utils", "library",
    "utils", "utils.checkpoint", "utils.cpp_extension", "utils.dlpack", "export", "random", "fx", "_logging",
)  # fmt: skip
DTYPES = (
    torch.float32,
    torch.float64,
    torch.float16,
    torch.bfloat16,
    torch.int64,
    torch.int32,
    torch.uint8,
    torch.bool,
)
HEAD = """\
# The API

Every name of torch that minidynamo has, written by `tools/api_table.py`; do not edit. What is not listed is not there:
asking for it raises AttributeError and says so.

Everywhere: elements live on the CPU (tensors of the device `meta` have none), and complex32 has a name but no tensors.
Tensors are dense and strided; sparse, nested, quantised and masked ones are made of these, with functions of their own.

*Dtypes* says what an op computes in, by trying it with f32 f64 f16 bf16 i64 i32 u8 bool. *Lacks* names parameters of
torch's that are not accepted.
"""
SHORT = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "uint8": "u8",
}


def owner_of(space):
    if space == "Tensor":
        return torch.Tensor
    try:
        return importlib.import_module(f"minidynamo.{space}" if space else "minidynamo")
    except ModuleNotFoundError:
        return None


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def op_parts(doc):
    """(signatures, sentences) of an op function's docstring, an overload after the other."""
    parts = [" ".join(p.split()) for p in doc.split("\n\n")]
    is_signature = re.compile(r"^[\w.]+\(.*\)( -> .*)?$")
    return [p for p in parts if is_signature.match(p)], [p for p in parts if not is_signature.match(p)]


def dtypes_of(name):
    """The dtypes in which an op of this public name computes."""
    works = {}
    for op in (op for op in OPS.values() if op["public_name"] == name and is_public(op)):
        call = call_of(op["name"])
        first = re.search(r"\b([a-z])\b(?=[,.)\[ ])", call)
        given = operands()
        if not first or first[1] not in given:
            return ""
        like = given[first[1]].dtype
        for dtype in DTYPES:
            cast = {k: t.to(dtype) if t.dtype == like else t for k, t in operands().items()}
            try:
                function_of(call)(**cast)
                works[dtype] = True
            except (RuntimeError, TypeError, ValueError, IndexError, NotImplementedError):
                works.setdefault(dtype, False)
    names = [str(d).removeprefix("torch.") for d, good in works.items() if good]
    return "all" if len(names) == len(DTYPES) else " ".join(SHORT.get(n, n) for n in names)


def lacking(place, taken):
    """Parameters of torch's that are not among ours."""
    known = FACTS.get(place, ())
    return ", ".join(f"`{p}`" for p in known if p not in taken and p not in ("input", "args", "kwargs"))


def op_row(space, name, thing):
    signatures, text = op_parts(thing.__doc__ or "")
    taken = set(re.findall(r"(\w+)(?=[=,)]|$)", " ".join(signatures)))
    place = f"{space}.{name}".lstrip(".")
    public = signatures[0].split("(")[0].split(".")[-1] if signatures else name
    shown = "<br>".join(f"`{s}`" for s in signatures)
    return f"| `{name}` | {shown} | {dtypes_of(public)} | {lacking(place, taken)} | {cell(' '.join(text))} |"


def python_row(space, name, thing):
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        signature = None
    doc = (inspect.getdoc(thing) or "").split("\n\n")
    if signature is None and doc and doc[0].startswith(name + "("):
        shown, doc = doc[0], doc[1:]
        taken = set(re.findall(r"\w+", shown))
    else:
        shown = name + (re.sub(r" at 0x\w+", "", str(signature)) if signature else "")
        taken = set(signature.parameters) if signature else set(FACTS.get(f"{space}.{name}".lstrip("."), ()))
        if signature and any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values()):
            taken |= set(FACTS.get(f"{space}.{name}".lstrip("."), ()))
    text = "" if inspect.ismodule(thing) or not doc else doc[0]
    return f"| `{name}` | `{cell(shown)}` | | {lacking(f'{space}.{name}'.lstrip('.'), taken)} | {cell(text)} |"


def belongs(space, thing):
    """Not a helper a module happens to import."""
    module = getattr(thing, "__module__", None) or ""
    return not inspect.ismodule(thing) and (module.startswith(("minidynamo", "builtins")) or not module)


def rows_of(space, owner):
    for name in sorted(dir(owner), key=lambda n: (n.lower(), n)):
        if name.startswith("_"):
            continue
        thing = getattr(owner, name)
        if type(thing).__name__.startswith("op_"):
            yield op_row(space, name, thing)
        elif callable(thing) and belongs(space, thing):
            yield python_row(space, name, thing)
        elif space == "Tensor" and not callable(thing):
            yield f"| `{name}` | attribute | | | {cell((thing.__doc__ or '').split(chr(10) + chr(10))[-1])} |"


def settings():
    from minidynamo._dynamo import config

    lines = ["", "## torch._dynamo.config", "", "| setting | default | |", "|---|---|---|"]
    for name, value in sorted(config.get_config_copy().items()):
        shown = "by the environment, else `False`" if name in ("verbose", "disable") else f"`{cell(repr(value))}`"
        idle = f"no effect: {cell(config.NO_EFFECT[name])}" if name in config.NO_EFFECT else ""
        lines.append(f"| `{name}` | {shown} | {idle} |")
    return lines


def table():
    lines = [HEAD]
    for space in SPACES:
        owner = owner_of(space)
        rows = list(rows_of(space, owner)) if owner is not None else []
        if rows:
            lines += ["", f"## torch{'.' + space if space else ''}", ""]
            lines += ["| name | takes | dtypes | lacks | |", "|---|---|---|---|---|", *rows]
    dtypes = [n for n in dir(torch) if isinstance(getattr(torch, n), torch.dtype)]
    lines += ["", "## Dtypes", "", ", ".join(f"`{n}`" for n in dtypes)]
    return "\n".join([*lines, *settings()]) + "\n"


def main():
    text = table()
    if "--check" not in sys.argv:
        TARGET.write_text(text)
        return 0
    if TARGET.exists() and TARGET.read_text() == text:
        return 0
    print("docs/api.md is not up to date: run .venv/bin/python tools/api_table.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
