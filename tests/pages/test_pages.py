"""What users see: programs run as users run them, their output compared with golden files line by line.

Each program names its logs in its first line. One whose output shows bytecode says so in the second, and has a golden
file for each CPython. `examples.toml` says which program stands for which example of the reference pages. The output
(standard output and logs, in order) has the program's path replaced by PROGRAM, and what differs from run to run (ids,
addresses, times) by a word. Not compared, since nobody here has them: dispatch key sets, event loggers, compile
workers, source locations inside the reference's own files. MINIDYNAMO_UPDATE_GOLDEN=1 rewrites the golden files;
review the difference before committing it.
"""

import os
import pathlib
import re
import subprocess
import sys
import tomllib

import pytest

import minidynamo

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGES = str(pathlib.Path(minidynamo.__file__).parents[1])  # where the build under test lies
VERSIONS = ("3.11", "3.12", "3.13")
VERSION = "{}.{}".format(*sys.version_info)
PROGRAMS = sorted((HERE / "programs").glob("*.py"))
CHANGING = [
    (re.compile(r"[0-9a-f]{8}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{4}_[0-9a-f]{12}"), "UUID"),
    (re.compile(r"\b0x[0-9a-f]+"), "ADDRESS"),
    (re.compile(r"(check_(?:type|obj)_id\((?:[^()]|\([^()]*\))*, )\d+"), r"\1ID"),
    (
        re.compile(r"(check_(?:type|obj)_id\((?:[^()]|\([^()]*\))*, ID\)) {2,}"),
        r"\1  ",
    ),  # padding depends on the id's length
    (re.compile(r"___\d{6,}"), "___ID"),
    (re.compile(r"(Guard eval latency = )[\d.]+"), r"\1TIME"),
    (re.compile(r"(^Recompiled function .* in )[\d.]+ ms$", re.MULTILINE), r"\1TIME"),
    (re.compile(r"/tmp/tmp\w+"), "FOLDER"),
]


def normalised(text, path):
    text = text.replace(str(path), "PROGRAM").replace(PACKAGES, "ROOT/python").replace(str(ROOT), "ROOT")
    for pattern, replacement in CHANGING:
        text = pattern.sub(replacement, text)
    return text


def header(path, key):
    """What one of the program's first two lines says: "# logs: graph_code", "# shows: bytecode"."""
    found = re.search(rf"^# {key}:[ ]*(.*)$", "\n".join(path.read_text().split("\n")[:2]), re.MULTILINE)
    return found and found[1].strip()


def golden_files(path):
    """{version: file}: one for each where bytecode shows, else one for all."""
    own = ".{}" if header(path, "shows") == "bytecode" else ""
    return {version: HERE / "golden" / f"{path.stem}{own.format(version)}.txt" for version in VERSIONS}


def run(path):
    logs = header(path, "logs")
    sanitized = {k: os.environ[k] for k in ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS") if k in os.environ}
    env = {
        **sanitized,
        "PATH": os.environ.get("PATH", ""),
        "PYTHONPATH": PACKAGES,
        "PYTHONUNBUFFERED": "1",
        "TORCH_LOGS": logs,
        "TORCH_LOGS_FORMAT": "%(message)s",
    }
    done = subprocess.run(
        [sys.executable, str(path)], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    return done.returncode, normalised(done.stdout, path)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_page(path):
    status, text = run(path)
    assert status == 0, text
    golden = golden_files(path)[VERSION]
    if os.environ.get("MINIDYNAMO_UPDATE_GOLDEN") == "1":
        golden.write_text(text)
    assert text == golden.read_text()


def test_every_golden_file_has_its_program():
    assert {*(HERE / "golden").glob("*.txt")} == {file for p in PROGRAMS for file in golden_files(p).values()}


def test_every_example_of_the_pages_has_its_program():
    """The table counts the examples of each page without a gap, and each is a program here."""
    pages = tomllib.loads((HERE / "examples.toml").read_text())["page"]
    for page in pages:
        examples = page["example"]
        assert [e["number"] for e in examples] == list(range(1, page["examples"] + 1)), page["title"]
        for example in examples:
            assert (HERE / "programs" / f"{example['program']}.py").exists(), example
            assert example["shows"]


def test_programs_are_told_apart():
    path = PROGRAMS[0]
    text = f"{path}:3 ___check_obj_id(G['m'], 140) <code object f at 0x7f00, line 1> __compiled_fn_1_"
    text += "0a0a0a0a_1b1b_2c2c_3d3d_4e4e4e4e4e4e"
    assert normalised(text, path) == (
        "PROGRAM:3 ___check_obj_id(G['m'], ID) <code object f at ADDRESS, line 1> __compiled_fn_1_UUID"
    )
