"""Runs each example several times in one process and fails if references or memory blocks keep growing.

On a debug build of Python sys.gettotalrefcount counts references; otherwise allocated blocks stand in for them.
"""

import contextlib
import gc
import io
import pathlib
import runpy
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# The first runs fill tables that are as large as they will ever be after some of them.
WARM, ROUNDS = 10, 4
TOLERANCE = 50  # caches of the interpreter still move by a few blocks


def count():
    sys._clear_type_cache()  # it keeps the names of attributes
    gc.collect()
    gc.collect()
    total = getattr(sys, "gettotalrefcount", None)
    return total() if total else sys.getallocatedblocks()


def run_once(path):
    import minidynamo

    sys.argv = [str(path), "--quick"]
    with contextlib.redirect_stdout(io.StringIO()):
        runpy.run_path(str(path), run_name="__main__")
    minidynamo._dynamo.reset()


def growth(path):
    for _ in range(WARM):
        run_once(path)
    counts = [count()]
    for _ in range(ROUNDS):
        run_once(path)
        counts.append(count())
    return [after - before for before, after in zip(counts, counts[1:])]


def main():
    sys.path[:0] = [str(ROOT / "python"), str(ROOT / "examples")]
    failed = False
    for path in sorted((ROOT / "examples").glob("[0-9]*.py")):
        steps = growth(path)
        leaks = min(steps) > TOLERANCE
        failed |= leaks
        print(f"{path.name}: growth per run {steps}{'  LEAK' if leaks else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
