"""Runs one suite (a module of CPython's tests, a package's) in one way, in subprocesses, and goes on after crashes and
hangs.
"""

import hashlib
import importlib.util
import json
import math
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from collections import Counter
from pathlib import Path

from modules import EVERYTHING, MORE, PLAIN

ROOT = Path(__file__).resolve().parents[2]
OUTCOMES = Path(__file__).with_name("outcomes.py")
UNITTEST = os.path.dirname(unittest.__file__) + os.sep
NO_RULE = "no rule for this form"  # so ends the context of a break at a form that nobody has modelled
MERGED = "without unittest, no rule"  # how frames are counted: stored results that were counted otherwise are none
MAX_PARTS = 40  # a module is given up after so many crashes and hangs
FLAGS = {EVERYTHING: [], MORE: ["--trace-more"]}


def is_here(module):
    return importlib.util.find_spec(f"test.{module}") is not None


def stamp(way):
    """What a result depends on: a stored one is good as long as this stays the same."""
    parts = [sys.version, MERGED]
    if way != PLAIN:
        package = ROOT / "python" / "minidynamo"
        for path in [*sorted(package.glob("_C*.so")), *sorted(package.rglob("*.py"))]:
            parts.append(f"{path.relative_to(package)} {path.stat().st_size} {path.stat().st_mtime_ns}")
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


class CpythonModule:
    """A module of CPython's tests. What runs a suite asks of it: its name, what its test ids begin with, the Python
    that runs it, the script and its arguments, the folder it runs in (None: an empty one) and which files' frames are
    not its own.
    """

    def __init__(self, module):
        self.name, self.prefix = module, f"test.{module}"
        self.python, self.folder = sys.executable, None

    def script(self, progress, done):
        return [str(OUTCOMES), self.prefix, str(progress), str(done)]

    def is_machinery(self, file):
        """Whether the frames of a file are those of what runs the tests, and not of the tests."""
        return file == str(OUTCOMES) or (file.startswith(UNITTEST) and self.name != "test_unittest")


def command(suite, way, folder, part):
    script = suite.script(folder / "progress", folder / "done")
    if way == PLAIN:
        return [suite.python, *script]
    report = ["--report", str(folder / f"report{part}")]
    # What the machinery of unittest imports is there before anything is compiled: it is none of the module's frames.
    start = "import copy, dataclasses, inspect, random, struct, sys, typing; from minidynamo.__main__ import main; "
    run = [suite.python, "-c", start + "sys.exit(main())", "run", "--everything"]
    return [*run, *FLAGS[way], *report, *script]


def lines_of(path):
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_bytes().split(b"\n") if line.endswith(b"}")]


def kill(process):
    """First in a way that shows where it hangs."""
    for sign in (signal.SIGABRT, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            pass
        try:
            process.wait(5)
            return
        except subprocess.TimeoutExpired:
            continue


def cpu_seconds(pid):
    """What a process has computed: on a busy machine a test that seems to stand still may only be waiting its turn."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return math.inf
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def run_part(suite, way, folder, part, timeout):
    """One subprocess. Returns "" if it came to its end, else what happened to it."""
    path = os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"}
    work = suite.folder or folder / f"work{part}"
    work.mkdir(exist_ok=True)
    progress, size, since, used = folder / "progress", -1, time.monotonic(), 0.0
    with open(folder / "log", "ab") as log:
        process = subprocess.Popen(
            command(suite, way, folder, part),
            stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=work, env=environment, start_new_session=True,
        )  # fmt: skip
        while True:
            try:
                status = process.wait(0.2)
                break
            except subprocess.TimeoutExpired:
                now = progress.stat().st_size if progress.exists() else 0
                if now != size:
                    size, since, used = now, time.monotonic(), cpu_seconds(process.pid)
                waited = time.monotonic() - since
                if waited > timeout and (cpu_seconds(process.pid) - used > timeout or waited > 6 * timeout):
                    kill(process)
                    return "hang"
    ended = lines_of(progress)[-1:] == [{"end": True}]
    return "" if ended else f"crash ({signal.Signals(-status).name if status < 0 else f'exit {status}'})"


def merge_reports(folder, suite):
    """Frames by how they ended, in all the parts whose report was written, and what the codes were."""
    frames, functions = Counter(), Counter()
    breaks, skips, contexts, no_rule = Counter(), Counter(), Counter(), Counter()
    for path in sorted(folder.glob("report*")):
        for row in json.loads(path.read_text(encoding="utf-8"))["functions"]:
            if suite.is_machinery(row["file"]):
                continue
            ends = {end: row[end] for end in ("whole", "partly", "skipped")}
            frames.update(ends)
            if not any(ends.values()):
                continue
            functions["whole" if ends["whole"] and not ends["partly"] + ends["skipped"] else
                      "partly" if ends["whole"] + ends["partly"] else "skipped"] += 1  # fmt: skip
            breaks.update(row["breaks"])
            skips.update(row["skips"])
            for text, n in row["details"].items():
                contexts[text] += n
                if NO_RULE in text:
                    no_rule[text] += n
    return {
        "frames": dict(frames), "functions": dict(functions), "breaks": dict(breaks.most_common()),
        "skips": dict(skips.most_common()), "contexts": dict(contexts.most_common(200)),
        "no_rule": dict(no_rule.most_common()),
    }  # fmt: skip


def run_suite(suite, way, timeout=60.0):
    """{"module" (the suite's name), "prefix", "way", "stamp", "tests": {id: outcome}, "details": {id: text},
    "seconds", "log", and what merge_reports gives}. A test during which the process died or stood still
    has the outcome "crash ..." or "hang".
    """
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="conformance") as name:
        folder = Path(name)
        tests, details = {}, {}
        for part in range(MAX_PARTS):
            (folder / "done").write_text("\n".join(tests), encoding="utf-8")
            (folder / "progress").unlink(missing_ok=True)
            end = run_part(suite, way, folder, part, timeout)
            running = None
            for line in lines_of(folder / "progress"):
                running = line.get("start", None if "id" in line else running)
                if "id" in line:
                    tests[line["id"]] = line["outcome"]
                    if line["detail"]:
                        details[line["id"]] = line["detail"]
            if not end:
                break
            tests[running or f"{suite.prefix}.outside of tests"] = end
            if running is None:
                break  # it would end the same way again
        log = (folder / "log").read_bytes()[-20000:].decode(errors="replace")
        return {
            "module": suite.name, "prefix": suite.prefix, "way": way, "stamp": stamp(way),
            "tests": tests, "details": details, "seconds": round(time.monotonic() - begun, 1),
            "log": log, **merge_reports(folder, suite),
        }  # fmt: skip
