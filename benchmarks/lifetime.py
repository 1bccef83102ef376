#!/usr/bin/env python3
"""Memory of a process that calls without end, of one that compiles functions and drops them, and of those that train.

    benchmarks/lifetime.py [--calls N] [--compilations N] [--steps N]

Resident megabytes after each tenth of the work, which should stay the same from the second tenth on. Prints JSON.
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


def training(number, compiled, meanwhile):
    """Steps of a small network: loss, backward, clipping, AdamW; before each, `meanwhile(network, x)` has its turn."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Linear(16, 32), torch.nn.GELU(), torch.nn.LayerNorm(32), torch.nn.Linear(32, 4)
    )
    optimizer = torch.optim.AdamW(network.parameters(), lr=1e-3)
    x, target = torch.randn(8, 16), torch.randint(0, 4, (8,))

    def step(x, target):
        loss = torch.nn.functional.cross_entropy(network(x), target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return loss.detach()

    run, sizes = torch.compile(step) if compiled else step, []
    for _ in range(10):
        for _ in itertools.repeat(None, number // 10):
            meanwhile(network, x)
            run(x, target)
        gc.collect()
        sizes.append(round(resident(), 1))
    return sizes


def nothing(network, x):
    pass


def left_behind(network, x):
    """A graph in a cycle with its own hook, and one whose backward is ended by a hook that raises."""
    y = network(x).sum()
    y.keeper = y
    y.register_hook(lambda gradient, y=y: gradient + 0 * y)
    z = network(x).sum()
    handle = network[3].weight.register_hook(stop)
    try:
        z.backward()
    except ArithmeticError:
        pass
    handle.remove()
    network.zero_grad()


def stop(gradient):
    raise ArithmeticError


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--calls", type=int, default=10_000_000)
    parser.add_argument("--compilations", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=100_000)
    options = parser.parse_args()
    results = {
        "calls_mb": calls(options.calls),
        "compilations_mb": compilations(options.compilations),
        "steps_mb": training(options.steps, False, nothing),
        "compiled_steps_mb": training(options.steps, True, nothing),
        "left_behind_mb": training(options.steps // 10, False, left_behind),
        "compiled_left_behind_mb": training(options.steps // 10, True, left_behind),
    }
    for what, sizes in results.items():
        print(f"{what:<24} " + " ".join(f"{size:.1f}" for size in sizes))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
