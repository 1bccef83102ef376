"""Everything a change has to pass: `make test`, smoke tests on the other Pythons, and a table of what took how long.

Exit status 0 only if every stage passed. Budgets are those of a cold run; a stage above its budget is marked, not
failed.
"""

import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
STAGES = ROOT / "build" / "stages.tsv"
BUDGETS = {"C++ build": 20 * 60, "C++ tests": 3 * 60, "Python tests": 12 * 60, "smoke": 5 * 60}
WHOLE = 45 * 60


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def table(rows, whole):
    print(f"\n{'stage':<28}{'time':>8}{'budget':>9}  result")
    for name, seconds, status in rows:
        budget = next((b for key, b in BUDGETS.items() if name.startswith(key)), None)
        result = "passed" if status == 0 else f"FAILED ({status})"
        over = "  over budget" if budget and seconds > budget else ""
        print(f"{name:<28}{minutes(seconds):>8}{minutes(budget) if budget else '':>9}  {result}{over}")
    print(f"{'whole run':<28}{minutes(whole):>8}{minutes(WHOLE):>9}  {'over budget' if whole > WHOLE else ''}")


def main():
    start = time.monotonic()
    STAGES.unlink(missing_ok=True)
    failed = []
    for target in ("test", "smoke"):
        status = subprocess.run(["make", "--no-print-directory", target], cwd=ROOT).returncode
        if status:
            failed.append(target)
    rows = []
    if STAGES.exists():
        for line in STAGES.read_text().splitlines():
            name, seconds, status = line.split("\t")
            rows.append((name, float(seconds), int(status)))
    table(rows, time.monotonic() - start)
    if failed:
        print(f"failed: make {', make '.join(failed)}", file=sys.stderr)
    return 1 if failed or any(status for _, _, status in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
