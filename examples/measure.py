"""What the examples share: options, the check of results, and timing."""

import argparse
import math
import sys
import textwrap
import time

import numpy as np

import minidynamo as torch


def begin(description):
    """Prints what the example is about; returns its options."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, for tests")
    options = parser.parse_args()
    print(textwrap.dedent(description).strip(), end="\n\n")
    return options


def check(what, ours, expected, relative=1e-4, absolute=1e-5):
    """Ends the program with a message and exit status 1 if the arrays differ."""
    ours, expected = np.asarray(ours), np.asarray(expected)
    if ours.shape != expected.shape:
        sys.exit(f"MISMATCH {what}: shape {ours.shape} instead of {expected.shape}")
    if not np.allclose(ours, expected, rtol=relative, atol=absolute):
        sys.exit(f"MISMATCH {what}: values differ by up to {np.abs(ours - expected).max():.3g}")


def check_reached(what, value, least=-math.inf, most=math.inf):
    """Ends the program with a message and exit status 1 if the value is not between both, or not a number."""
    if not least <= value <= most:
        sys.exit(f"NOT REACHED {what}: {value:.6g} instead of " + " to ".join(f"{bound:g}" for bound in (least, most)))


def first_call(call):
    """Result and seconds of the call that traces and compiles."""
    start = time.perf_counter()
    result = call()
    return result, time.perf_counter() - start


def race(contestants, rounds):
    """(name, call) pairs, run in turn so that all meet the same machine: the shortest seconds of each by name."""
    torch.compiler.wait_for_kernels()
    best = {name: float("inf") for name, _ in contestants}
    for _ in range(rounds):
        for name, call in contestants:
            start = time.perf_counter()
            call()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def print_times(seconds, unit=1e3, name="ms"):
    """Each is compared with the first one."""
    reference = next(iter(seconds.values()))
    for what, value in seconds.items():
        ratio = "" if value is reference else f"{value / reference:8.1f} x the time"
        print(f"  {what:<26}{value * unit:10.3f} {name}{ratio}")
