#!/usr/bin/env python3
"""What is compiled and timed, for any module with torch's interface: the same source for us and for a peer.

benchmarks/kernels.py MODULE      measures MODULE (minidynamo, torch) and prints JSON
"""

import importlib
import itertools
import json
import sys
import time

SHAPE = (8192, 2048)
TEN_OPS = """
def f(x):
    a = x * {k}.5
    b = a + x
    c = torch.sin(b)
    d = c - a
    e = d * d
    g = torch.exp(e)
    h = g / b
    i = h + c
    j = torch.tanh(i)
    return j * x
"""


def best(call, repeat):
    shortest = float("inf")
    for _ in range(repeat):
        start = time.perf_counter()
        call()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest


def wait_for_kernels(torch):
    """Machine code made in the background takes part in what is measured from here on."""
    getattr(torch.compiler, "wait_for_kernels", lambda: None)()


def warm_call(torch):
    """Microseconds of a compiled call with almost nothing to compute, and of the same uncompiled."""

    def two_ops(x):
        return x * 2 + 1

    x = torch.ones(8)
    rounds = 20_000
    found = {}
    for name, function in ("warm_call_us", torch.compile(two_ops)), ("plain_call_us", two_ops):
        for _ in range(100):
            function(x)
        wait_for_kernels(torch)

        def many(function=function):
            for _ in itertools.repeat(None, rounds):
                function(x)

        found[name] = best(many, 7) / rounds * 1e6
    return found


def cold_compile(torch, rounds=8):
    """Milliseconds of a first call, minimum and median, and until there is machine code: each a new function with new
    constants, so no cache helps."""
    x = torch.ones(64)
    wall, processor, ready = [], [], []
    for k in range(rounds):
        scope = {"torch": torch}
        exec(TEN_OPS.format(k=k + 1), scope)
        compiled = torch.compile(scope["f"], fullgraph=True)
        start, busy = time.perf_counter(), time.process_time()
        compiled(x)
        wall.append((time.perf_counter() - start) * 1e3)
        wait_for_kernels(torch)
        ready.append((time.perf_counter() - start) * 1e3)
        processor.append((time.process_time() - busy) * 1e3)
    wall, processor = sorted(wall[2:]), sorted(processor[2:])  # the first two load what is loaded late
    return {
        "cold_compile_ms": wall[0],
        "cold_compile_median_ms": wall[len(wall) // 2],
        "cold_compile_processor_ms": processor[0],
        "machine_code_ms": min(ready[2:]),
    }


def kernels(torch):
    """name -> (function, number of inputs, number of outputs as large as an input)."""

    def axpy(x, y):
        return 2.5 * x + y

    def gelu(x):
        return 0.5 * x * (1.0 + torch.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    def four_inputs(a, b, c, d):
        return torch.where(a > b, a * c, b * d) + c - d

    def squared_error(x, y):
        return ((x - y) * (x - y)).mean()

    def row_norms(x):
        return torch.sqrt((x * x).sum(1))

    return {
        "axpy": (axpy, 2, 1),
        "gelu": (gelu, 1, 1),
        "four_inputs": (four_inputs, 4, 1),
        "squared_error": (squared_error, 2, 0),
        "row_norms": (row_norms, 1, 0),
    }


def bandwidth(torch):
    """Each kernel compiled and uncompiled: milliseconds and GB/s of what has to be read and written once."""
    torch.manual_seed(0)
    inputs = [torch.randn(*SHAPE) for _ in range(4)]
    size = SHAPE[0] * SHAPE[1] * 4
    found = {}
    for name, (function, count, written) in kernels(torch).items():
        compiled, args = torch.compile(function), inputs[:count]
        compiled(*args)
        wait_for_kernels(torch)
        row = {"writes": bool(written)}
        seconds = best(lambda c=compiled, a=args: c(*a), 9)
        row["ms"], row["gb_per_s"] = seconds * 1e3, (count + written) * size / seconds / 1e9
        row["plain_ms"] = best(lambda f=function, a=args: f(*a), 3) * 1e3
        found[name] = row
    return found


def measure(name):
    torch = importlib.import_module(name)
    with torch.no_grad():  # nothing here needs derivatives
        found = {**warm_call(torch), **cold_compile(torch), "kernels": bandwidth(torch)}
    return {"version": getattr(torch, "__version__", ""), **found}


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
