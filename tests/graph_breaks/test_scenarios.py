"""One small program for each graph-break code we raise. A scenario file defines

    CODE            the registry code
    run(compile)    builds, compiles and calls a function; returns its result
    fix(compile)    optional: the rewrite that compiles to one graph with eager's result
    EAGER_ERROR     optional: name of the exception the plain program raises
    WHOLE           optional: True where only fullgraph tells of the code: `explain --fix` shows `run` with it
    LISTED          optional: True where config.trace_more compiles `run` to one graph
    PARTIAL_ERROR   optional: the exception allowed without fullgraph (default EAGER_ERROR)
    MIN_PYTHON, MAX_PYTHON  optional: the first and the last version on which the code can be raised, as (3, 11)

The code must be seen (raised under fullgraph, or counted without), the partial result must equal plain Python's, and
the fix must compile under fullgraph.
"""

import pathlib
import re
import sys
import warnings

import pytest

import minidynamo as torch
from graph_breaks.conditions import scope_of


def is_for_this_python(path):
    """Without running it: a file may import what other versions do not have."""
    text = path.read_text(encoding="utf-8")
    bounds = {name: (int(a), int(b)) for name, a, b in re.findall(r"(?m)^(M\w\w)_PYTHON = \((\d+), (\d+)\)", text)}
    return bounds.get("MIN", (0, 0)) <= sys.version_info[:2] <= bounds.get("MAX", (99, 0))


ROOT = pathlib.Path(__file__).resolve().parents[2]
FILES = [path for path in sorted(pathlib.Path(__file__).parent.glob("GB*.py")) if is_for_this_python(path)]


def codes_of(error):
    found = set()
    while error is not None:
        found |= {m.upper() for m in re.findall(r"gb/(gb\d{4})", str(error))} | {getattr(error, "gb_code", None)}
        error = error.__cause__ or error.__context__
    return found


def attempt(function, compiler):
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.manual_seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return None, function(compiler)
        except Exception as error:  # noqa: BLE001  any error is the program's answer
            return error, None


def compiler(**options):
    def apply(f=None, **more):
        settings = {"backend": "eager", **options, **more}
        return torch.compile(f, **settings) if f is not None else torch.compile(**settings)

    return apply


def plain(f=None, **options):
    return f if f is not None else (lambda g: g)


def equal(a, b):
    if isinstance(a, torch.Tensor) or isinstance(b, torch.Tensor):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and repr(a.tolist()) == repr(b.tolist())
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(map(equal, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return list(a) == list(b) and all(equal(a[key], b[key]) for key in a)
    return type(a) is type(b) and (a == b or a != a)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_scenario(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setitem(sys.modules, "torch._dynamo", torch._dynamo)
    scope = scope_of(path)
    eager_error, eager = attempt(scope["run"], plain)
    assert (type(eager_error).__name__ if eager_error else None) == scope.get("EAGER_ERROR")
    full_error, _ = attempt(scope["run"], compiler(fullgraph=True))
    seen = codes_of(full_error)
    error, value = attempt(scope["run"], compiler())
    seen |= codes_of(error)
    for counter in torch._dynamo.utils.counters.values():
        seen |= {m.upper() for message in counter for m in re.findall(r"gb/(gb\d{4})", str(message))}
    assert scope["CODE"] in seen
    if error is None:
        assert eager_error is None and equal(value, eager)
    else:
        assert type(error).__name__ == scope.get("PARTIAL_ERROR", scope.get("EAGER_ERROR"))
    if scope.get("LISTED"):
        with torch._dynamo.config.patch(trace_more=True):
            more_error, more = attempt(scope["run"], compiler(fullgraph=True))
        assert more_error is None and equal(more, eager)
    if "fix" in scope:
        plain_error, want = attempt(scope["fix"], plain)
        fix_error, got = attempt(scope["fix"], compiler(fullgraph=True))
        assert plain_error is None and fix_error is None
        assert equal(want, got)
