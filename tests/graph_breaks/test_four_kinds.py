"""Every code that is raised has programs of four kinds: see kinds_of_programs.py."""

import collections
import pathlib
import sys
import tomllib

import pytest

import minidynamo as torch
from graph_breaks import kinds_of_programs, test_scenarios

REGISTRY = pathlib.Path(__file__).resolve().parents[2] / "registry" / "graph_breaks.toml"

# Codes that cannot be met in a function that is called by the compiled one, and why.
NEVER_INLINED = {
    "GB0003": "it is about the compiled function itself",
    "GB0019": "found at the end, where results are handed over",
    "GB0039": "it is about compilations of one function",
    "GB0092": "found at the end, where results are handed over",
    "GB0102": "shown where the function with the gradient is applied",
    "GB0149": "asked before the compiled function begins",
    "GB0209": "found at the end, where results are handed over",
    "GB0212": "found at the end, where results are handed over",
    "GB0219": "the backend is given the whole graph",
}
# Codes that are met in such functions only, and which those are.
ALWAYS_INLINED = {
    "GB0031": "__getattribute__ of a module",
    "GB0067": "the function a region runs",
    "GB0091": "the function that refers to the variable",
    "GB0094": "the generator that delegates",
    "GB0101": "a function of another module",
    "GB0120": "the generator that delegates",
    "GB0205": "forward() of a function with a gradient",
    "GB0221": "__enter__ of contextlib's manager",
}
# Codes whose programs need more than a call: what, and who has them.
ELSEWHERE = {
    "GB0052": "a hundred attempts at one function: test_sites_by_other_ways.py",
    "GB0106": "a process without NumPy: tests/frontend/test_last_raise_sites.py",
}


def raised_codes():
    rows = tomllib.loads(REGISTRY.read_text(encoding="utf-8"))["break"]
    raised = {row["code"] for row in rows if row["status"] == "raised" and "python" not in row}
    files = pathlib.Path(__file__).parent.glob("GB*.py")
    of_others = {path.stem for path in files if not test_scenarios.is_for_this_python(path)}
    return sorted(raised - of_others - set(ELSEWHERE))


@pytest.fixture(scope="module")
def ways():
    """code → (how programs meet it, number of neighbours)."""
    patched = {name: sys.modules.get(name) for name in ("torch", "torch._dynamo")}
    sys.modules.update({"torch": torch, "torch._dynamo": torch._dynamo})
    try:
        programs, neighbours = kinds_of_programs.programs()
        ways = collections.defaultdict(list)
        for code, program, settings in programs:
            if how := kinds_of_programs.met(code, program, settings):
                ways[code].append(how)
    finally:
        for name, module in patched.items():
            if module is None:
                del sys.modules[name]
            else:
                sys.modules[name] = module
    return ways, neighbours


def lacking(code, ways, neighbours):
    depths = {how.depth for how in ways}
    found = {
        "a plain program": 1 in depths or code in ALWAYS_INLINED or (code in NEVER_INLINED and ways),
        "an inlined one": max(depths, default=0) > 1 or code in NEVER_INLINED,
        "three that differ": len({how.place for how in ways}) > 2,
        "a neighbour": neighbours,
    }
    return [kind for kind, is_there in found.items() if not is_there]


def test_four_kinds(ways):
    met, neighbours = ways
    missing = {code: lacking(code, met[code], neighbours[code]) for code in raised_codes()}
    assert not {code: kinds for code, kinds in missing.items() if kinds}


def test_exceptions_are_needed(ways):
    """What is said of them is so: no code stands in a table that has that kind of program."""
    met, _ = ways
    assert not [code for code in NEVER_INLINED if any(how.depth > 1 for how in met[code])]
    assert not [code for code in ALWAYS_INLINED if any(how.depth == 1 for how in met[code])]
