#!/usr/bin/env python3
"""Programs with complex numbers: compiled and plain, and the same in NumPy, in one process.

benchmarks/complex_numbers.py [--threads N] [--json]

Every program runs in turn on each side, so that all see the same machine; what counts is the shortest time of each. The
last rows time a gradient as well, which NumPy has none of.
"""

import argparse
import json
import time

import numpy as np
from kernels import wait_for_kernels

import minidynamo as torch

COUNT = 1 << 18
RNG = np.random.default_rng(0)


def numbers():
    return RNG.standard_normal(2 * COUNT, dtype=np.float32).view(np.complex64)


def product(np_or_torch, z, w):
    return z * w


def polynomial(np_or_torch, z, w):
    return ((z * z + w) * z + w) * z.conj() + w


def distances(np_or_torch, z, w):
    return abs(z * w - z)


def phases(np_or_torch, z, w):
    return np_or_torch.exp(z * 1j) * w


def correlation(np_or_torch, z, w):
    return (z * w.conj()).sum()


def loss(np_or_torch, z, w):
    return (abs(np_or_torch.tanh(z * w) - w) ** 2).mean()


PROGRAMS = {f.__name__: f for f in (product, polynomial, distances, phases, correlation, loss)}


def gradient(f):
    def run(z, w):
        leaf = z.clone().requires_grad_()
        f(leaf, w).backward()
        return leaf.grad

    return run


def sides(f, z, w):
    """name -> call without arguments, warmed up; all have given the same numbers."""
    x, y = torch.from_numpy(z), torch.from_numpy(w)
    plain = lambda x, y: f(torch, x, y)  # noqa: E731
    compiled = torch.compile(plain, fullgraph=True)
    calls = {"compiled": lambda: compiled(x, y), "plain": lambda: plain(x, y), "numpy": lambda: f(np, z, w)}
    want = calls["numpy"]()
    for _ in range(2):
        for name in ("compiled", "plain"):
            np.testing.assert_allclose(calls[name]().numpy(), want, rtol=1e-3, atol=1e-2)
        wait_for_kernels(torch)
    if f is loss:
        steps = {"compiled": gradient(compiled), "plain": gradient(plain)}
        np.testing.assert_array_equal(steps["compiled"](x, y).numpy(), steps["plain"](x, y).numpy())
        wait_for_kernels(torch)
        calls |= {f"{name} gradient": lambda step=step: step(x, y) for name, step in steps.items()}
    return calls


def measure(rounds=15):
    found = {}
    for name, f in PROGRAMS.items():
        calls = sides(f, numbers(), numbers())
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(rounds):
            for side, call in calls.items():
                start = time.perf_counter()
                call()
                best[side] = min(best[side], time.perf_counter() - start)
        found[name] = {side: seconds * 1e3 for side, seconds in best.items()}
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="milliseconds as JSON")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    found = measure()
    if options.json:
        print(json.dumps(found))
        return
    print(f"{COUNT:,} complex64 numbers, ms")
    for name, row in found.items():
        for more in ("", " gradient"):
            if f"plain{more}" not in row:
                continue
            compiled, plain = row[f"compiled{more}"], row[f"plain{more}"]
            text = f"{name + more:20}{compiled:9.3f} compiled {plain:9.3f} plain ({plain / compiled:.1f} x)"
            if not more:
                text += f" {row['numpy']:9.3f} NumPy ({row['numpy'] / compiled:.1f} x)"
            print(text)


if __name__ == "__main__":
    main()
