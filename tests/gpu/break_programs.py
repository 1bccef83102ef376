"""Programs of tests/graph_breaks by the names of their files, on both kinds of devices: `GB0007()` and so on."""

import contextlib
import functools
import io
import pathlib
import re
import runpy
import sys

import minidynamo as torch
from gpu.twins import without_device
from graph_breaks.test_scenarios import attempt, compiler, plain

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "graph_breaks"
# Plain Python refuses these on a device: NumPy's arrays and what `Tensor(2, 3)` makes are on the CPU.
FOR_THE_CPU = {"GB0026", "GB0026_numbers", "GB0048", "GB0105", "GB0159"}


def __getattr__(name):
    return functools.partial(_check, name)


def _shown(value):
    if isinstance(value, torch.Tensor):
        return f"{type(value).__name__} {value.dtype} {tuple(value.shape)} {value.tolist()} {value.requires_grad}"
    if isinstance(value, (list, tuple)):
        return [_shown(item) for item in value]
    if isinstance(value, dict):
        return {key: _shown(item) for key, item in value.items()}
    return type(value).__name__ if " at 0x" in repr(value) else repr(value)


def _text(words):
    return re.sub(r"0x[0-9a-f]+", "ADDRESS", without_device(words))


def _seen(program, compiled):
    """Result or error, the texts of breaks with codes, places and hints, and counts of graphs and frames."""
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        error, value = attempt(program, compiled)
    counters = torch._dynamo.utils.counters
    texts = sorted(_text(str(key)) for kind in ("graph_break", "unimplemented") for key in counters[kind])
    result = [type(error).__name__, _text(str(error))] if error else _shown(value)
    return result, printed.getvalue(), texts, counters["stats"]["unique_graphs"], counters["frames"]["total"]


def _on(device, path, given):
    """What is seen of a file on a device, and its scope; `given`: one whose operators are defined already."""
    torch.set_default_device(device)
    try:
        try:
            scope = runpy.run_path(str(path))
        except RuntimeError as error:
            assert "can be defined once" in str(error)
            scope = given
        programs = [scope[name] for name in ("run", "fix") if name in scope]
        compilers = plain, compiler(fullgraph=True), compiler(), compiler(backend="inductor")
        return [[_seen(program, compiled) for program in programs] for compiled in compilers], scope
    finally:
        torch.set_default_device("cpu")


def _check(name):
    sys.modules["torch"], sys.modules["torch._dynamo"] = torch, torch._dynamo
    path = FOLDER / f"{name}.py"
    here, scope = _on("cpu", path, None)
    there, _ = _on("cuda", path, scope)
    if name in FOR_THE_CPU:
        assert here[0] != there[0] and there[0][0][0][0] in ("RuntimeError", "TypeError"), there[0]
        return
    for one, other in zip(here, there):
        assert one == other, f"on the CPU: {one}\non the device: {other}"
