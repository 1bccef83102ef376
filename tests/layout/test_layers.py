"""The rules of the house that a search can check: who includes whom, names, and that every break has its row."""

import pathlib
import re
import tomllib

import pytest

from layout.tree import ROOT, sources, text_of, tracked

# What each layer may include besides itself.
MAY_INCLUDE = {
    "registry": {"registry"},
    "ir": {"registry", "ir"},
    "backend": {"registry", "ir", "backend"},
    "frontend": {"registry", "ir", "frontend"},
    "python": {"registry", "ir", "backend", "frontend", "python"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<]([^">]+)[">]', re.MULTILINE)
VERSION_MACRO = re.compile(r"\bPY_VERSION_HEX\b|\bPY_M[AI][JN]OR_VERSION\b|\bPY_MINOR_VERSION\b")
VERSION_FOLDERS = ("frontend/bytecode/", "frontend/cpython/")
FORBIDDEN_NAMES = {"utils", "helpers", "helper", "misc", "common", "manager", "util"}
MIRRORED = {
    "python/minidynamo/_dynamo/utils.py",
    "python/minidynamo/_dynamo/backends/common.py",
    "python/minidynamo/cuda/amp/common.py",
    "python/minidynamo/distributions/utils.py",
    "python/minidynamo/fx/passes/utils",
    "python/minidynamo/nn/modules/utils.py",
    "python/minidynamo/nn/utils",
    "python/minidynamo/utils",
}


def cpp_sources():
    return [name for name in sources(".h", ".cpp", ".inc", ".c") if name.split("/")[0] in MAY_INCLUDE]


def test_there_is_something_to_check():
    layers = {name.split("/")[0] for name in cpp_sources()}
    assert set(MAY_INCLUDE) - {"python"} <= layers


def test_includes_point_left():
    wrong = []
    for name in cpp_sources():
        layer = name.split("/")[0]
        for included in INCLUDE.findall(text_of(name)):
            target = included.split("/")[0]
            if target in MAY_INCLUDE and target not in MAY_INCLUDE[layer]:
                wrong.append(f"{name} includes {included}")
    assert wrong == []


def test_python_stays_out_of_the_core():
    wrong = [
        name
        for name in cpp_sources()
        if name.split("/")[0] in ("registry", "ir", "backend")
        and any(i == "Python.h" or i.startswith("pybind11/") for i in INCLUDE.findall(text_of(name)))
    ]
    assert wrong == []


def test_llvm_stays_in_the_backend():
    wrong = [
        name
        for name in cpp_sources()
        if not name.startswith("backend/")
        and any(i.startswith(("llvm/", "llvm-c/")) for i in INCLUDE.findall(text_of(name)))
    ]
    assert wrong == []


def test_python_versions_are_told_apart_in_two_folders():
    wrong = [n for n in cpp_sources() if not n.startswith(VERSION_FOLDERS) and VERSION_MACRO.search(text_of(n))]
    assert wrong == []


def test_no_static_waits_for_python():
    """Python code lets go of the GIL; who then wants the static waits for ever (frontend/cpython/made_once.h)."""
    calls = re.compile(
        r"\b(checked|import_module|type_of|of_module|folder_of|PyObject_\w+|PyImport_\w+|PyNumber_\w+)\("
    )
    wrong = []
    for name in cpp_sources():
        for static in re.finditer(
            r"^ +static (?!inline)[^;(]*?(?:=|\{)(\s*\[.*?\}\(\)|.*?);", text_of(name), re.MULTILINE | re.DOTALL
        ):
            if calls.search(static[1]):
                wrong.append(f"{name}: {static[0].split(chr(10))[0].strip()}")
    assert wrong == []


def test_names_say_something():
    wrong = []
    for name in tracked():
        parts = pathlib.PurePosixPath(name).with_suffix("").parts
        mirrored = any(name == m or name.startswith(m + "/") for m in MIRRORED)
        if not mirrored and FORBIDDEN_NAMES & set(parts):
            wrong.append(name)
    for name in cpp_sources():
        for space in re.findall(r"\bnamespace\s+([\w:]+)", text_of(name)):
            if FORBIDDEN_NAMES & set(space.split("::")):
                wrong.append(f"{name}: namespace {space}")
    assert wrong == []


def test_raise_sites_have_rows():
    table = tomllib.loads(text_of("registry/graph_breaks.toml"))["break"]
    rows = {row["code"] for row in table}
    rows |= {f"{row['code']}_{variant['name']}" for row in table for variant in row.get("variant", ())}
    wrong = []
    for name in cpp_sources():
        for site in re.findall(r"\b(GB\d{4}\w*)\b", text_of(name)):
            if site not in rows:
                wrong.append(f"{name}: {site}")
    assert wrong == []


@pytest.mark.parametrize(
    "pattern",
    [
        r"\b(TODO|FIXME|XXX)\b",
        r"not implemented yet",
        r"(?<![\w.])/(work|root|home)/\w",
        r"(index-url|extra-index-url|trusted-host)",
    ],
    ids=["unfinished", "promise", "machine path", "index host"],
)
def test_nothing_private_or_unfinished(pattern):
    own = pathlib.Path(__file__).relative_to(ROOT).as_posix()
    wrong = []
    for name in tracked():
        if name == own or name.endswith((".png", ".jpg")):
            continue
        for number, line in enumerate(text_of(name).split("\n"), 1):
            if re.search(pattern, line):
                wrong.append(f"{name}:{number}: {line.strip()[:100]}")
    assert wrong == []
