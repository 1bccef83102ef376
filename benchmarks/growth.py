#!/usr/bin/env python3
"""How costs grow with the program: operations, guards, entries, arguments, symbols. Prints JSON with the exponent of
each curve.

    benchmarks/growth.py [--out FILE.json] [--plot FILE.svg]

The exponent is that of the power law fitted to the upper half of a curve, without what the smallest size costs: 1 is
linear. Processor time of this thread, minima. --plot needs matplotlib (pip install matplotlib).
"""

import argparse
import itertools
import json
import math
import pathlib
import time

import minidynamo as torch
from minidynamo._dynamo import config


def program(operations, number):
    """Source of a function of so many operations, with constants no kernel in the cache has."""
    lines = [f"    x = x * {1 + number / 1e6 + k / 1e9}\n    x = x + y\n" for k in range(operations // 2)]
    space = {}
    exec("def f(x, y):\n" + "".join(lines) + "    return x\n", space)
    return space["f"]


NUMBERS = itertools.count(1)
FLAT = 5
X, Y = torch.ones(8), torch.ones(8)


def timed(call):
    start = time.thread_time()
    call()
    return time.thread_time() - start


def warm(call, repeat=2000, rounds=7):
    """Microseconds of a call, once everything is ready."""
    call()
    torch.compiler.wait_for_kernels()

    def many():
        for _ in itertools.repeat(None, repeat):
            call()

    return min(timed(many) for _ in range(rounds)) / repeat * 1e6


def first_result(size):
    """Milliseconds of the first call of a function of so many operations."""
    rounds = 12

    def once():
        torch.compiler.wait_for_kernels()  # of the round before
        compiled = torch.compile(program(size, next(NUMBERS)), fullgraph=True)
        return timed(lambda: compiled(X, Y))

    return min(once() for _ in range(rounds)) * 1e3


def machine_code(size):
    """Milliseconds until a first call that waits for machine code is done."""

    def once():
        compiled = torch.compile(program(size, next(NUMBERS)), fullgraph=True, mode="reduce-overhead")
        return timed(lambda: compiled(X, Y))

    return min(once() for _ in range(3 if size < 5000 else 1)) * 1e3


def guards(size):
    """Microseconds of a call that reads so many attributes of an object."""

    class Settings:
        pass

    settings = Settings()
    for k in range(size):
        setattr(settings, f"a{k}", k)
    space = {}
    reads = " + ".join(f"s.a{k}" for k in range(size))
    exec(f"def f(x, s):\n    return x * ({reads})\n", space)
    compiled = torch.compile(space["f"], fullgraph=True)
    return warm(lambda: compiled(X, settings), 2000 if size < 200 else 300)


def entries(size):
    """Microseconds of a call that meets each of so many entries in turn."""
    with config.patch(recompile_limit=size + 1, accumulated_recompile_limit=size + 1):
        compiled = torch.compile(program(2, next(NUMBERS)), fullgraph=True, dynamic=False)
        shapes = [(torch.ones(k + 2), torch.ones(k + 2)) for k in range(size)]
        for x, y in shapes:
            compiled(x, y)
        turn = itertools.cycle(shapes)
        return warm(lambda: compiled(*next(turn)), max(2000, 2 * size))


def arguments(size):
    """Microseconds of a call with so many tensors."""
    names = ", ".join(f"x{k}" for k in range(size))
    space = {}
    exec(f"def f({names}):\n    return {names.replace(',', ' +')}\n", space)
    compiled = torch.compile(space["f"], fullgraph=True)
    tensors = [torch.ones(8) for _ in range(size)]
    return warm(lambda: compiled(*tensors), 2000 if size < 100 else 300)


def symbols(size):
    """Milliseconds of the first call with a list of so many ints that are symbols, of which the sum is used."""
    numbers = list(range(2, size + 2))

    def once():
        torch._dynamo.reset()
        compiled = torch.compile(lambda x, ints: x + sum(ints), dynamic=True, fullgraph=True)
        return timed(lambda: compiled(X, numbers))

    return min(once() for _ in range(5)) * 1e3


CURVES = {
    "first result": (first_result, (10, 100, 1000, 10_000), "operations", "ms"),
    "machine code": (machine_code, (10, 100, 1000, 4000), "operations", "ms"),
    "guarded call": (guards, (10, 40, 160, 640), "attributes read", "us"),
    "dispatch": (entries, (1, 8, 64, 512), "entries", "us"),
    "arguments": (arguments, (2, 8, 32, 128), "tensors", "us"),
    "symbols": (symbols, (10, 60, 360, 2160), "symbolic ints", "ms"),
}


def exponent(sizes, costs):
    """Least squares in logarithms over the upper half, after the cost of the smallest size is taken off; 0 of a curve
    that is flat: over 64 times the size or more it does not grow to FLAT times the cost."""
    if max(costs) < FLAT * min(costs):
        return 0.0
    points = [(math.log(n), math.log(max(c - costs[0], 1e-9))) for n, c in zip(sizes, costs)][len(sizes) // 2 :]
    n = len(points)
    mean_x, mean_y = sum(x for x, _ in points) / n, sum(y for _, y in points) / n
    return sum((x - mean_x) * (y - mean_y) for x, y in points) / sum((x - mean_x) ** 2 for x, _ in points)


def measure():
    found = {}
    for name, (cost, sizes, of, unit) in CURVES.items():
        costs = [cost(size) for size in sizes]
        found[name] = {"of": of, "unit": unit, "sizes": sizes, "costs": costs, "exponent": exponent(sizes, costs)}
    return found


def plot(found, path):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "growth", "font.size": 9})
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(found), figsize=(3 * len(found), 3), layout="constrained")
    for axis, (name, curve) in zip(axes, found.items()):
        axis.loglog(curve["sizes"], curve["costs"], "o-")
        linear = [curve["costs"][-1] * n / curve["sizes"][-1] for n in curve["sizes"]]
        axis.loglog(curve["sizes"], linear, ":", color="grey")
        axis.set(title=f"{name}: n^{curve['exponent']:.2f}", xlabel=curve["of"], ylabel=curve["unit"])
        axis.set_ylim(bottom=min(curve["costs"]) / 2)
    figure.savefig(path, metadata={"Date": None})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", help="JSON file to write")
    parser.add_argument("--plot", help="SVG file to write")
    options = parser.parse_args()
    torch.set_num_threads(1)
    found = measure()
    for name, curve in found.items():
        row = "  ".join(f"{n:,}: {c:.3g}" for n, c in zip(curve["sizes"], curve["costs"]))
        print(f"{name:<14}n^{curve['exponent']:.2f}  {curve['unit']} by {curve['of']}: {row}")
    if options.out:
        pathlib.Path(options.out).write_text(json.dumps(found, indent=1) + "\n")
    if options.plot:
        plot(found, options.plot)


if __name__ == "__main__":
    main()
