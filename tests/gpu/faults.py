"""Faults planted in the schedules of GPU programs, one at a time: are they noticed, by a check or by a wrong bit?

    PYTHONPATH=build-faults/package .venv/bin/python -m tests.gpu.faults [--count N] [--seed 0] [--list] [NUMBER ...]

With the package that tools/schedule_faults.py builds; MINIDYNAMO_SCHEDULE_FAULT chooses the fault.
The graphs of fault_graphs.py are compiled and launched until a check of the emulated driver fires, a result differs
from the CPU's, or more is executed or accessed than counts.json allows. Told apart are faults with which no program
can be made, those whose place no graph gets to, and those that change nothing (THE_SAME).
"""

import argparse
import collections
import ctypes
import os
import pathlib
import random
import signal
import sys

os.environ["MINIDYNAMO_CUDA_DRIVER"] = "none"  # the driver is called here, not by the package
os.environ["MINIDYNAMO_EMULATOR_DEVICES"] = "sm_90:1G"
os.environ.setdefault("MINIDYNAMO_EMULATOR_LIMIT", "3000000")  # a loop without an end is noticed soon
HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "tools")]

import schedule_faults  # noqa: E402

from . import counts  # noqa: E402
from .emulated_driver import LIBRARY, Driver  # noqa: E402
from .fault_graphs import graphs  # noqa: E402
from .launched_graph import LaunchedGraph, results_of  # noqa: E402

SWITCH = "MINIDYNAMO_SCHEDULE_FAULT"
SECONDS = 300  # for one fault
# The shapes that a file has a part in; all, where it is not listed.
SHAPES_OF = {
    "gpu_columns.cpp": ("columns", "again", "parts", "varying"),
    "gpu_rows.cpp": ("rows", "passes", "columns", "again", "parts", "varying"),
    "gpu_tiles.cpp": ("tiles", "varying"),
    "gpu_elements.cpp": ("elements", "varying"),
}
NOT_NOTICED, NOT_REACHED, NO_PROGRAM, SAME = "not noticed", "not reached", "no program", "the same"
# Looked at, and the same whatever the sizes: (the source's line, what stands in it): why.
THE_SAME = {
    ("chosen = ir_.CreateAnd(chosen, ir_.CreateICmpEQ(y_, i32(0)));", "i32((0) + 1)"): (
        "every thread of a column has its results: the second of them stores as well as the first"
    ),
    (
        "Value *col = number, *row = i64(0);",
        "i64((0) + 1)",
    ): "where rows are not counted, no address depends on the row",
    ("if (condition) stored = stored ? ir_.CreateAnd(stored, condition) : condition;", "stored"): (
        "the two conditions meet where results of rows are stored, by a constant column 0: the second holds"
    ),
    ("i64(kSegmentThreads), results, [&](Value* here, std::vector<Value*>& now) {", "i64((kSegmentThreads) + 1)"): (
        "a loop of one turn: its step is as long as what it walks"
    ),
}


def quick_first(found):
    """One graph of each kind, then the others."""
    seen, first, later = set(), [], []
    for graph in found:
        kind = graph[1].__code__.co_firstlineno
        (later if kind in seen else first).append(graph)
        seen.add(kind)
    return first + later


def outcome(number, asked):
    """How the fault is noticed, and by which graph."""
    os.environ[SWITCH] = str(number)
    driver, before, no_program = Driver(LIBRARY), counts.kept(), None
    for name, function, inputs, dynamic, expected in asked:
        try:
            graph = LaunchedGraph(function, inputs, dynamic, expected)
        except Exception as error:  # noqa: BLE001  what cannot be made is not launched
            no_program = f"{name}: {error}"
            continue
        driver.library.mdEmulatorReset()
        if how := graph.differs(driver):
            return how, name
        if more := counts.worse(before[name], counts.totals(driver)):
            return "counts", f"{name}: {more}"
    if no_program:
        return NO_PROGRAM, no_program
    getenv = ctypes.CDLL(None).getenv
    getenv.restype = ctypes.c_char_p
    return (NOT_NOTICED if getenv(f"{SWITCH}_REACHED".encode()) else NOT_REACHED), ""


def is_the_same(fault):
    return any(fault[5].endswith(line) and fault[4] == instead for line, instead in THE_SAME)


def in_child(number, asked):
    """outcome() in a fork: no text is made anew there that another fault has made."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        signal.alarm(SECONDS)
        os.write(writer, "\0".join(outcome(number, asked)).encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        said = pipe.read()
    _, status = os.waitpid(child, 0)
    return tuple(said.split("\0")) if status == 0 else (f"the process ended with {status}", "")


def run(numbers, show=False):
    """{number: (how it was noticed, where)}"""
    faults = schedule_faults.faults()
    asked = [(*graph, results_of(graph[1], graph[2])) for graph in quick_first(graphs())]
    found = {}
    for number in numbers:
        shapes = SHAPES_OF.get(pathlib.Path(faults[number][1]).name)
        if is_the_same(faults[number]):
            found[number] = (SAME, "")
            continue
        found[number] = in_child(number, [a for a in asked if not shapes or a[0].split()[0] in shapes])
        if show or found[number][0] in (NOT_NOTICED, NOT_REACHED):
            print(number, *faults[number][:5], *found[number], sep=" | ", flush=True)
    return found


def report(found):
    """Lines: by kind, and all together."""
    faults = schedule_faults.faults()
    rows = collections.defaultdict(collections.Counter)
    for number, (how, _) in found.items():
        rows[faults[number][0]][how if how in (NOT_NOTICED, NOT_REACHED, NO_PROGRAM, SAME) else "noticed"] += 1
    rows["together"] = sum(rows.values(), collections.Counter())
    for kind, row in rows.items():
        planted = row["noticed"] + row[NOT_NOTICED]
        yield (
            f"{kind:18} {planted:4} planted, {row['noticed']:4} noticed ({row['noticed'] / max(planted, 1):.1%}); "
            f"{row[SAME]} the same, {row[NO_PROGRAM]} without a program, {row[NOT_REACHED]} not reached"
        )


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--count", type=int)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--list", action="store_true", help="also what was noticed, and how")
    options.add_argument("numbers", nargs="*", type=int)
    chosen = options.parse_args()
    numbers = chosen.numbers or list(schedule_faults.faults())
    if chosen.count:
        numbers = random.Random(chosen.seed).sample(numbers, min(chosen.count, len(numbers)))
    found = run(numbers, chosen.list)
    print(*report(found), sep="\n")


if __name__ == "__main__":
    main()
