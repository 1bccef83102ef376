#!/usr/bin/env python3
"""What it costs a program that its costs are written down (MINIDYNAMO_TRACE_COSTS=1).

    benchmarks/observing.py [--seconds N] [PROGRAM ...]

Each program runs in a process that writes its events, in short stretches of which every second one is not measured:
`ratio` is the least time of a measured stretch over that of one which is not, `median` the same of medians. `writing`
is the share of the run that the writing of events took, `told` that of all of it as the events tell it. Prints JSON.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]

# name -> (statements before, one stretch)
PROGRAMS = {
    "training step": (
        "m = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))\n"
        "optimizer = torch.optim.SGD(m.parameters(), lr=0.01)\n"
        "inputs, targets = torch.randn(64, 64), torch.randint(0, 10, (64,))\n"
        "@torch.compile\n"
        "def loss_of(x, y):\n"
        "    return torch.nn.functional.cross_entropy(m(x), y)\n",
        "for _ in range(4):\n    loss_of(inputs, targets).backward()\n    optimizer.step()\n    optimizer.zero_grad()",
    ),
    "small calls": (
        "x, y = torch.ones(8), torch.ones(8)\n@torch.compile\ndef f(x, y):\n    return (x * 2 + y).relu()\n",
        "for _ in range(2000):\n    f(x, y)",
    ),
    "five breaks": (
        "x = torch.ones(1000)\n"
        "@torch.compile\n"
        "def f(x):\n"
        + "".join(f"    x = x * {k} + 1\n    torch._dynamo.graph_break()\n" for k in range(2, 7))
        + "    return x - 1\n",
        "for _ in range(50):\n    f(x)",
    ),
    "10,000 small kernels": (
        "x = torch.ones(64)\n"
        "@torch.compile\n"
        "def f(x):\n"
        "    for k in range(500):\n"
        "        x = (x @ eye).relu() if k % 2 else x.sum() + x\n"
        "    return x\n"
        "eye = torch.eye(64)\n",
        "for _ in range(20):\n    f(x)",
    ),
    "eager": ("x, y = torch.ones(100), torch.ones(100)\n", "for _ in range(300):\n    (x * 2 + y).relu().sum()"),
}
MEASURE = """
import json, sys, time
import minidynamo as torch
torch.set_num_threads(1)
torch._dynamo.config.background_compile = False
before, stretch, seconds = json.loads(sys.argv[1])
space = {"torch": torch}
exec(before, space)
exec("def stretch():\\n" + "".join("    " + line + "\\n" for line in stretch.splitlines()), space)
stretch = space["stretch"]
for _ in range(5): stretch()
times, end = ([], []), time.perf_counter() + seconds
while time.perf_counter() < end or not times[1]:
    for on in (False, True):
        torch._C._observe_costs(on)
        start = time.perf_counter()
        stretch()
        times[on].append(time.perf_counter() - start)
print(json.dumps(times))
"""


def measured(name, seconds):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "MINIDYNAMO_TRACE": folder}
        command = [sys.executable, "-c", MEASURE, json.dumps([*PROGRAMS[name], seconds])]
        done = subprocess.run(
            command, env={**environment, "MINIDYNAMO_TRACE_COSTS": "1"}, capture_output=True, text=True, check=True
        )
        events = [json.loads(line) for file in pathlib.Path(folder).iterdir() for line in file.open()]
    off, on = json.loads(done.stdout)
    summary = [event for event in events if event["kind"] == "cost_summary"][-1]
    return {
        "ratio": round(min(on) / min(off), 4),
        "median": round(statistics.median(on) / statistics.median(off), 4),
        "stretch_ms": round(min(off) * 1e3, 3),
        "told": round(summary["observing_seconds"] / summary["wall_seconds"], 4),
        "writing": round(summary["writing_seconds"] / summary["wall_seconds"], 4),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help=", ".join(PROGRAMS))
    parser.add_argument("--seconds", type=float, default=5)
    wanted = parser.parse_args()
    print(json.dumps({name: measured(name, wanted.seconds) for name in wanted.programs or PROGRAMS}, indent=1))


if __name__ == "__main__":
    main()
