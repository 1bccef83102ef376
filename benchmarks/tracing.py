#!/usr/bin/env python3
"""How fast functions are traced, and how the time grows: loops unrolled to a million instructions and more.

benchmarks/tracing.py   prints JSON: for each program the instructions run, the milliseconds of processor time of the
                        first call, and the exponent of its growth (1: linear) between the two largest sizes

The first call is traced, its graph given to a backend that compiles nothing, the bytecode assembled, and the rest run.
"""

import json
import math
import sys
import time

import minidynamo as torch

SIZES = (1_000, 10_000, 100_000)  # rounds of the loop, about ten instructions each


def numbers(x, rounds):
    total = 0
    for i in range(rounds):
        if i % 3 == 0:
            total += i * 2
    return x + total


def calls(x, rounds):
    def step(a, b=1):
        return a + b

    total = 0
    for i in range(rounds):
        total = step(total, i)
    return x + total


def containers(x, rounds):
    kept, seen = [], {}
    for i in range(rounds):
        kept.append(i)
        seen[i % 7] = kept[-1]
    return x + seen[3]


def tensors(x, rounds):
    for _ in range(rounds // 10):
        x = x * 0.5 + 1
    return x


PROGRAMS = (numbers, calls, containers, tensors)


def instructions(function, *args):
    """How many CPython runs in a plain call."""
    count = 0

    def trace(frame, event, arg):
        nonlocal count
        frame.f_trace_opcodes = True
        count += event == "opcode"
        return trace

    sys.settrace(trace)
    try:
        function(*args)
    finally:
        sys.settrace(None)
    return count


def first_call(function, rounds, repeat=3):
    """Processor seconds of the first compiled call: the least of some."""
    x, times = torch.ones(8), []
    for _ in range(repeat):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend=lambda module, inputs: module.forward, fullgraph=True, dynamic=False)
        start = time.process_time()
        compiled(x, rounds)
        times.append(time.process_time() - start)
    return min(times)


def measure():
    found = {}
    for function in PROGRAMS:
        short = [instructions(function, torch.ones(8), n) for n in (100, 200)]
        per_round = (short[1] - short[0]) / 100
        rows = []
        for rounds in SIZES:
            rows.append({"instructions": round(per_round * rounds), "ms": first_call(function, rounds) * 1e3})
        growth = math.log(rows[-1]["ms"] / rows[-2]["ms"]) / math.log(SIZES[-1] / SIZES[-2])
        found[function.__name__] = {"sizes": rows, "exponent": growth}
    return found


if __name__ == "__main__":
    print(json.dumps(measure()))
