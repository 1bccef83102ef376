#!/usr/bin/env python3
"""A warm call and a first result beside torch, numba and JAX, as far as the interpreter has them; prints JSON.

    benchmarks/calls.py [--rounds N]

Warm: two operations on eight float32. First result: ten operations with constants nobody has compiled before. All in
one process and in turn, minima.
"""

import argparse
import importlib
import importlib.util
import itertools
import json
import os
import tempfile
import time

import numpy as np

os.environ["TORCHINDUCTOR_CACHE_DIR"] = tempfile.mkdtemp()  # nothing from an earlier run
NUMBERS = itertools.count(1)


def two_ops(x):
    return x * 2 + 1


def ten_ops():
    number = next(NUMBERS)
    body = "".join(f"    x = x * {1 + number / 1000 + k / 1e6} + {k + 1}\n" for k in range(5))
    space = {}
    exec(f"def f(x):\n{body}    return x\n", space)
    return space["f"]


def torch_like(name):
    """compile, input, waiting for the result, waiting for work in the background."""
    torch = importlib.import_module(name)
    torch.set_num_threads(1)
    wait = getattr(torch.compiler, "wait_for_kernels", lambda: None)
    return {
        name: (lambda f: f, torch.ones(8), lambda r: r, lambda: None),
        f"{name} compiled": (torch.compile, torch.ones(8), lambda r: r, wait),
    }


def numba_sides():
    import numba

    return {"numba": (numba.njit, np.ones(8, np.float32), lambda r: r, lambda: None)}


def jax_sides():
    import jax

    return {"jax": (jax.jit, jax.numpy.ones(8), lambda r: r.block_until_ready(), lambda: None)}


def sides():
    found = {}
    for name, make in (
        ("minidynamo", lambda: torch_like("minidynamo")),
        ("torch", lambda: torch_like("torch")),
        ("numba", numba_sides),
        ("jax", jax_sides),
    ):
        if importlib.util.find_spec(name):
            found.update(make())
    return found


def warm_calls(found, rounds):
    """Microseconds."""
    repeat = 2000
    calls, best = {}, {}
    for name, (compiled, x, ready, wait) in found.items():
        f = compiled(two_ops)
        for _ in range(50):
            ready(f(x))
        wait()
        calls[name] = (f, x, ready)
    for _ in range(rounds):
        for name, (f, x, ready) in calls.items():
            start = time.perf_counter()
            for _ in itertools.repeat(None, repeat):
                f(x)
            ready(f(x))
            best[name] = min(best.get(name, 1e9), (time.perf_counter() - start) / repeat * 1e6)
    return best


def first_results(found, rounds):
    """Milliseconds. The first of each side loads what is loaded late and does not count."""
    best = {}
    for k in range(rounds + 1):
        for name, (compiled, x, ready, wait) in found.items():
            f = compiled(ten_ops())
            start = time.perf_counter()
            ready(f(x))
            seconds = time.perf_counter() - start
            wait()
            if k:
                best[name] = min(best.get(name, 1e9), seconds * 1e3)
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found = sides()
    results = {"warm_us": warm_calls(found, 4 * options.rounds), "first_ms": first_results(found, options.rounds)}
    for what, row in results.items():
        ours = row["minidynamo compiled"]
        print(f"{what:<10}" + "  ".join(f"{name} {v:.3g} ({v / ours:.0f} x)" for name, v in row.items()))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
