"""Runs CPython's test modules plainly and compiled, compares every outcome, and writes docs/conformance.md.

python tests/conformance/run.py [MODULE ...] [--jobs N] [--shard K/N] [--fresh] [--no-rule]
                                [--no-document]

Results are kept in out/conformance/, one file for each module and way, and are used again as long as the Python and the
package stay the same: a run that was cut short goes on where it stopped.
"""

import argparse
import json
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import document
from compare import Comparison
from modules import ALL, COMPILED, PLAIN
from supervise import ROOT, CpythonModule, is_here, run_suite, stamp

STORE = ROOT / "out" / "conformance"
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
MOST_SHOWN = 30  # differences of one suite
MOST_FORMS = 10  # breaks without a rule of one suite


def stored(suite, way, fresh=False, timeout=60.0):
    """The result of a run, from the store if it is still good."""
    path = STORE / f"{suite.name}.{way}.{sys.version_info[0]}.{sys.version_info[1]}.json"
    if path.exists() and not fresh:
        result = json.loads(path.read_text(encoding="utf-8"))
        if result["stamp"] == stamp(way):
            return result
    result = run_suite(suite, way, timeout)
    STORE.mkdir(parents=True, exist_ok=True)
    temporary = path.with_suffix(".part")
    temporary.write_text(json.dumps(result, indent=1), encoding="utf-8")
    os.replace(temporary, path)
    return result


def compared(suite, args):
    plain = stored(suite, PLAIN, args.fresh, args.timeout)
    return [Comparison(plain, stored(suite, way, args.fresh, args.timeout)) for way in args.way or COMPILED]


def printed(comparisons):
    """Prints what was found; how many differences nothing explains, and excuses nothing needs."""
    found = 0
    for c in comparisons:
        print(c.line(), flush=True)
        if not c.tests:
            print("    no test ran", flush=True)
            found += 1
        for test, before, after, detail in c.unexplained()[:MOST_SHOWN]:
            print(f"    {test}: {before} -> {after}  {detail[-300:]}", flush=True)
        if len(c.unexplained()) > MOST_SHOWN:
            print(f"    and {len(c.unexplained()) - MOST_SHOWN} more: see {STORE.relative_to(ROOT)}", flush=True)
        for row in c.stale():
            print(f"    {row}: excused in differences.toml, but its outcome does not differ", flush=True)
        found += len(c.unexplained()) + len(c.stale())
    return found


def print_no_rule(rows):
    """How often the graph broke at a form of a construct that has no rule, by suite, and at which ones."""
    every = Counter()
    for comparisons in rows:
        for c in comparisons:
            counts = Counter(c.compiled.get("no_rule", {}))
            every.update(counts)
            print(f"{c.module} ({c.way}): {counts.total()} breaks without a rule", flush=True)
            for text, n in counts.most_common(MOST_FORMS):
                print(f"    {n:6} {text}", flush=True)
    print(f"all: {every.total()} breaks without a rule, {len(every)} different ones", flush=True)


def main():
    parser = argparse.ArgumentParser(description="CPython's test modules, plain and compiled.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="test_x ...; all of modules.py without any")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="modules at a time")
    parser.add_argument("--shard", default="1/1", metavar="K/N", help="every N-th module only, beginning at the K-th")
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds a test may stand still")
    parser.add_argument("--way", action="append", choices=COMPILED, help="how to compile; both ways without it")
    parser.add_argument("--fresh", action="store_true", help="use no stored results")
    parser.add_argument("--no-rule", action="store_true", help="count breaks at forms that have no rule")
    parser.add_argument("--no-document", action="store_true", help="leave docs/conformance.md as it is")
    args = parser.parse_args()
    part, parts = map(int, args.shard.split("/"))
    modules = [m for m in args.modules or ALL if is_here(m)][part - 1 :: parts]
    if not modules:
        parser.error(f"none of these modules is installed (Debian: libpython{VERSION}-testsuite)")
    rows, unexplained = [], 0
    with ThreadPoolExecutor(args.jobs) as pool:
        for comparisons in pool.map(lambda m: compared(CpythonModule(m), args), modules):
            unexplained += printed(comparisons)
            rows.append(comparisons)
    if args.no_rule:
        print_no_rule(rows)
    if not args.no_document and not args.modules and not args.way and parts == 1:
        document.write(rows, Path(ROOT / "docs" / "conformance.md"))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
