#!/usr/bin/env python3
"""Calls of one compiled function from many Python threads, beside one thread and, where it is installed, torch eager.

    benchmarks/threads.py [--threads N] [--rounds N]

Calls a second of all threads together over those of one, each thread with its own input; the kernel's own threads are
off, so that what scales is the calls. `long`: a chain of operations on a quarter of a million float32 (the
interpreter's lock is let go of). `short`: two operations on eight float32, which only the lock's handing over can slow
down. `crowded`: the kernel may use all cores and every thread calls it: seconds over those of one thread that makes all
the calls. All in turn, minima of time; prints JSON.
"""

import argparse
import importlib
import importlib.util
import itertools
import json
import os
import sys
import threading
import time

LONG, SHORT, CROWDED = 1 << 18, 8, 1 << 20
SECONDS = 0.15  # that one thread takes: many times the interval at which the interpreter's lock is handed over


def chain(x):
    for _ in range(4):
        x = (x * 0.5 + 0.25).tanh()
    return x


def two_ops(x):
    return x * 2 + 1


def seconds(f, inputs, calls):
    """Each input has a thread of its own, which calls `f` so many times; all begin together."""
    ready, go = threading.Barrier(len(inputs) + 1), threading.Barrier(len(inputs) + 1)

    def work(x):
        f(x)
        ready.wait()
        go.wait()
        for _ in itertools.repeat(None, calls):
            f(x)

    threads = [threading.Thread(target=work, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    ready.wait()
    start = time.perf_counter()
    go.wait()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def cases(name, threads):
    """case -> (function, elements, calls that take SECONDS, the kernel's own threads)"""
    torch = importlib.import_module(name)
    compiled = torch.compile if name == "minidynamo" else lambda f: f
    found = {
        "long": (compiled(chain), LONG, 1),
        "short": (compiled(two_ops), SHORT, 1),
        "crowded": (compiled(chain), CROWDED, threads),
    }
    for case, (f, n, own) in found.items():
        torch.set_num_threads(own)
        x = torch.rand(n)
        for _ in range(3):
            f(x)
        getattr(torch.compiler, "wait_for_kernels", lambda: None)()
        once = min(seconds(f, [x], 20) for _ in range(5)) / 20
        found[case] = (f, n, max(1, round(SECONDS / once)), own)
    return torch, found


def measure(threads, rounds):
    best = {}
    sides = {name: cases(name, threads) for name in ("minidynamo", "torch") if importlib.util.find_spec(name)}
    for _ in range(rounds):
        for name, (torch, found) in sides.items():
            for case, (f, n, calls, own) in found.items():
                torch.set_num_threads(own)
                inputs = [torch.rand(n) for _ in range(threads)]
                alone = calls * threads if case == "crowded" else calls
                for place, took in (
                    ("one", seconds(f, inputs[:1], alone)),
                    ("many", seconds(f, inputs, calls)),
                ):
                    key = (name, case, place)
                    best[key] = min(best.get(key, 1e9), took)
    results = {}
    for name in sides:
        for case in ("long", "short"):
            results[f"{name} {case}"] = threads * best[name, case, "one"] / best[name, case, "many"]
        results[f"{name} crowded"] = best[name, "crowded", "many"] / best[name, "crowded", "one"]
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    sys.setswitchinterval(0.005)
    results = measure(options.threads, options.rounds)
    for what, ratio in results.items():
        print(f"{what:<22} {ratio:.2f}")
    print(json.dumps({"threads": options.threads, **results}))


if __name__ == "__main__":
    main()
