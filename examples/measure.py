"""What the examples share: timing and a small table."""

import argparse
import time


def arguments(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", action="store_true", help="small sizes, for tests")
    return parser.parse_args()


def best_seconds(call, repeat=5):
    """Shortest of several runs: the one least disturbed by the rest of the machine."""
    best = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def print_times(rows, unit=1e3, name="ms"):
    """rows: (what, seconds). Each is compared with the first one."""
    first = rows[0][1]
    for what, seconds in rows:
        ratio = "" if seconds is rows[0][1] else f"   {seconds / first:6.1f} times as long"
        print(f"  {what:<24}{seconds * unit:10.3f} {name}{ratio}")
