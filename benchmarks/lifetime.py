#!/usr/bin/env python3
"""Memory of a process that calls without end, and of one that compiles functions and drops them.

    benchmarks/lifetime.py [--calls N] [--compilations N]

Resident megabytes after each tenth of the work, two numbers that should stay the same from the second tenth on. Prints
JSON.
"""

import argparse
import gc
import itertools
import json

import minidynamo as torch


def resident():
    with open("/proc/self/status", encoding="utf-8") as status:
        return next(int(line.split()[1]) / 1024 for line in status if line.startswith("VmRSS"))


def calls(number):
    x, y = torch.ones(8), torch.ones(8)
    f = torch.compile(lambda x, y: (x * 2 + y).relu())
    sizes = []
    for _ in range(10):
        for _ in itertools.repeat(None, number // 10):
            f(x, y)
        sizes.append(round(resident(), 1))
    return sizes


def compilations(number):
    """Each function has constants nobody has compiled before, in a namespace of its own, and is called twice."""
    x, sizes = torch.ones(8), []
    for tenth in range(10):
        for k in range(number // 10):
            space = {}
            exec(f"def f(x):\n    return (x * {tenth + k / 65536} + 1).relu()\n", space)
            f = torch.compile(space["f"])
            f(x)
            f(x)
        gc.collect()
        sizes.append(round(resident(), 1))
    return sizes


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--compilations", type=int, default=100_000)
    options = parser.parse_args()
    results = {"calls_mb": calls(options.calls), "compilations_mb": compilations(options.compilations)}
    for what, sizes in results.items():
        print(f"{what:<18} " + " ".join(f"{size:.1f}" for size in sizes))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
