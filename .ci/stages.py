"""Everything a change has to pass: lint, `make test`, the whole suite on the other Pythons, a quick pass with
sanitizers, and a table of what took how long.

Exit status 0 only if every stage passed. Budgets are those of a cold run; a stage above its budget is marked, not
failed. What the machine does not have (a supported Python, clang-format) is named in the table and again at the end.
"""

import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAGES = ROOT / "build" / "stages.tsv"
TARGETS = ("lint", "test", "pythons", "sanitize-quick")
BUDGETS = {
    "lint": 60,
    "C++ build, other Pythons": 8 * 60,
    "C++ build": 10 * 60,
    "C++ tests": 3 * 60,
    "Python tests 3": 7 * 60,
    "Python tests": 7 * 60,
    "GPU tests": 4 * 60,
    "sanitizers": 8 * 60,
}
WHOLE = 45 * 60


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def result_of(status):
    return {"0": "passed"}.get(status, status if "NOT" in status else f"FAILED ({status})")


def table(rows, whole):
    print(f"\n{'stage':<28}{'time':>8}{'budget':>9}  result")
    for name, seconds, status in rows:
        budget = next((b for key, b in BUDGETS.items() if name.startswith(key)), None)
        over = "  over budget" if budget and seconds > budget else ""
        budget_text = minutes(budget) if budget else ""
        print(f"{name:<28}{minutes(seconds):>8}{budget_text:>9}  {result_of(status)}{over}")
    print(f"{'whole run':<28}{minutes(whole):>8}{minutes(WHOLE):>9}  {'over budget' if whole > WHOLE else ''}")


def stages():
    if not STAGES.exists():
        return []
    lines = [line.split("\t") for line in STAGES.read_text().splitlines()]
    return [(name, float(seconds), status) for name, seconds, status in lines]


def main():
    start = time.monotonic()
    STAGES.unlink(missing_ok=True)
    failed = []
    for target in TARGETS:
        if subprocess.run(["make", "--no-print-directory", target], cwd=ROOT).returncode:
            failed.append(target)
    rows = stages()
    table(rows, time.monotonic() - start)
    for name, _, status in rows:
        if "NOT" in status:
            print(f"NOT CHECKED: {name} ({status})", file=sys.stderr)
    if failed:
        print(f"failed: make {', make '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
