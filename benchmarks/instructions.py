"""Counts the instructions of a call, a guard, a trace, a compilation, inside the extension and the code it generates.

    benchmarks/instructions.py [--check | --record] [PATH ...]

Wall time varies by half on a shared machine, instructions hardly: each path runs under callgrind with two repeat
counts, and what is executed between them is the cost. callgrind counts from the first of them on only, as what comes
before (import, traces, machine code) takes it several times as long. x86-64-v3 is forced, for valgrind knows no
AVX-512; hash seed and addresses are fixed. The interpreter's own instructions do not count, so that its build does not
matter; the compiler of the extension does. --check fails where a path has become more than 2 % dearer than
instructions.json says, --record writes that file.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
RECORD = pathlib.Path(__file__).with_name("instructions.json")
TOLERANCE = 0.02
# Tells callgrind when to begin and to end: requests to valgrind are instructions, which Python cannot execute itself.
SWITCH = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; }
void end(void) { CALLGRIND_STOP_INSTRUMENTATION; }
"""

COMMON = """
import itertools, sys
import minidynamo as torch
torch.set_num_threads(1)
x, y = torch.ones(8), torch.ones(8)
def fresh(number, ops, **settings):
    body = "".join(f"    x = (x * {number + k / 64} + y).relu()\\n" for k in range(ops // 3))
    space = {}
    exec(f"def f(x, y):\\n{body}    return x - y\\n", space)
    return torch.compile(space["f"], fullgraph=True, **settings)
"""
# name -> (statements before, the statement counted, repeat counts)
PATHS = {
    "call": ("@torch.compile\ndef f(x, y):\n    return (x * 2 + y).relu()", "f(x, y)", (500, 1500)),
    "keywords": (
        "@torch.compile\ndef f(x, *, scale=2, y=None):\n    return x * scale + y",
        "f(x, y=y)",
        (500, 1500),
    ),
    "attributes": (
        "class Settings: pass\n"
        "s = Settings()\n"
        "for k in range(10): setattr(s, f'a{k}', k)\n"
        "first, second = 3, 4\n"
        "@torch.compile\ndef f(x, s):\n    return x * (s.a0 + s.a1 + s.a2 + s.a3 + s.a4 + s.a5 + s.a6 + s.a7 + s.a8"
        " + s.a9 + first + second)",
        "f(x, s)",
        (500, 1500),
    ),
    "modules": (
        "m = torch.nn.Sequential(*[torch.nn.ReLU() for _ in range(100)])\nf = torch.compile(m)",
        "f(x)",
        (100, 300),
    ),
    "modules in *args": (
        "m = torch.nn.Sequential(*[torch.nn.ReLU() for _ in range(100)])\n"
        "@torch.compile\ndef f(*args, **kwargs):\n    return args[0](args[1]) * kwargs['scale']",
        "f(m, x + y, scale=2)",
        (100, 300),
    ),
    "entries": (
        "torch._dynamo.config.recompile_limit = 100\n"
        "@torch.compile(dynamic=False)\ndef f(x, k):\n    return x * k\n"
        "keys = itertools.cycle([float(k) for k in range(64)])\nfor _ in range(64): f(x, next(keys))",
        "f(x, next(keys))",
        (640, 1920),
    ),
    "graph break": (
        "@torch.compile\ndef f(x):\n    x = x * 2\n    torch._dynamo.graph_break()\n    return x + 1",
        "f(x)",
        (300, 900),
    ),
    "plain operation": ("", "x + y", (500, 1500)),
    "training step": (
        "torch.manual_seed(0)\n"
        "m = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))\n"
        "optimizer = torch.optim.AdamW(m.parameters())\n"
        "inputs, targets = torch.randn(4, 8), torch.tensor([0, 1, 2, 3])\n"
        "@torch.compile\n"
        "def loss_of(x, y):\n"
        "    return torch.nn.functional.cross_entropy(m(x), y)\n"
        "def step():\n"
        "    loss_of(inputs, targets).backward()\n"
        "    optimizer.step()\n"
        "    optimizer.zero_grad()\n"
        "for _ in range(3): step()",
        "step()",
        (100, 300),
    ),
    "first call, 10 operations": (
        "number = itertools.count(1)",
        "fresh(next(number), 9, backend='blocks')(x, y)",
        (10, 60),
    ),
    "first call, 1,000 operations": (
        "number = itertools.count(1)",
        "fresh(next(number), 999, backend='blocks')(x, y)",
        (1, 3),
    ),
    "first call, 2,000 inputs": (
        "many = [torch.ones(8) for _ in range(2000)]\n"
        "def total(x, many):\n"
        "    for y in many: x = x + y\n"
        "    return x\n"
        "def first():\n"
        "    torch._dynamo.reset()\n"
        "    torch.compile(total, backend='blocks')(x, many)",
        "first()",
        (1, 3),
    ),
    "first call, 2,000 views and writes": (
        "def views(x, y):\n"
        "    for k in range(1000): x = x.unsqueeze(0).squeeze(0)\n"
        "    for k in range(1000): y[k % 8] = k\n"
        "    return x + y\n"
        "def first():\n"
        "    torch._dynamo.reset()\n"
        "    torch.compile(views, backend='blocks')(x, torch.ones(8))",
        "first()",
        (1, 3),
    ),
    "machine code, 10 operations": (
        "number = itertools.count(1)",
        "fresh(next(number), 9, mode='reduce-overhead')(x, y)",
        (3, 9),
    ),
}


def compiler():
    """What built the extension: GCC's version decides about its instructions."""
    done = subprocess.run(["g++", "-dumpfullversion"], capture_output=True, text=True)
    return f"g++ {done.stdout.strip()}, {platform.machine()}"


def is_release():
    """Whether the extension was built as users get it."""
    cache = ROOT / "build/CMakeCache.txt"
    text = cache.read_text() if cache.exists() else ""
    return "CMAKE_BUILD_TYPE:STRING=Debug" not in text and "MINIDYNAMO_SANITIZE:BOOL=ON" not in text


def self_costs(text):
    """object file -> instructions executed in it, from callgrind's output."""
    names, costs, current, skip = {}, {}, "", False
    for line in text.splitlines():
        if line.startswith("ob="):
            number, name = re.fullmatch(r"ob=\((\d+)\)(?: (.*))?", line).groups()
            current = names.setdefault(number, name)
        elif line.startswith("cob="):  # of a callee; may name an object for the first time
            number, name = re.fullmatch(r"cob=\((\d+)\)(?: (.*))?", line).groups()
            names.setdefault(number, name)
        elif line.startswith("calls="):
            skip = True  # the next line is what the callee costs
        elif re.match(r"[+\-*\d]", line):
            if not skip:
                costs[current] = costs.get(current, 0) + int(line.split()[1])
            skip = False
    return costs


def program(path, switch):
    """Runs the statement as often as the smaller count says, then, counted, up to the larger one."""
    before, statement, (few, many) = PATHS[path]

    def repeated(times):
        return f"for _ in itertools.repeat(None, {times}):\n    {statement}"

    # Collected at the end and nowhere else: what is left behind is freed in the part that counts, once.
    lines = ["import ctypes, gc", "gc.disable()", f"switch = ctypes.CDLL({str(switch)!r})"]
    lines += ["begin, end = switch.begin, switch.end", COMMON, before]
    lines += [repeated(few), "begin()", repeated(many - few), "gc.collect()", "end()"]
    return "\n".join(lines) + "\n"


def count(path, switch):
    """Instructions of one run of the statement in the extension and in generated code, which belongs to no file."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "python"),
        "PYTHONHASHSEED": "0",
        "MINIDYNAMO_CPU": "x86-64-v3",
        "MINIDYNAMO_BACKGROUND_COMPILE": "0",
    }
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "costs"
        script = pathlib.Path(folder) / "program.py"
        script.write_text(program(path, switch))
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--instr-atstart=no"]
        fixed = ["setarch", platform.machine(), "--addr-no-randomize"]
        done = subprocess.run(
            [*fixed, *valgrind, sys.executable, script], env=environment, capture_output=True, text=True
        )
        if done.returncode:
            sys.exit(f"{path}: failed under callgrind:\n{done.stderr}")
        costs = self_costs(out.read_text())
    few, many = PATHS[path][2]
    ours = sum(n for name, n in costs.items() if name is None or "/_C." in name or name == "???" or not name)
    return round(ours / (many - few))


def measure(paths):
    with tempfile.TemporaryDirectory() as folder:
        switch = pathlib.Path(folder) / "switch.so"
        subprocess.run(["gcc", "-shared", "-fPIC", "-o", switch, "-xc", "-"], input=SWITCH, text=True, check=True)
        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            return dict(zip(paths, pool.map(lambda path: count(path, switch), paths)))


def judge(found, record):
    """Lines to print, and whether a path became dearer than recorded."""
    lines, worse = [], False
    for path, instructions in found.items():
        known = record["instructions"].get(path)
        change = instructions / known - 1 if known else 0
        note = "" if known else "  not recorded"
        if change > TOLERANCE:
            note, worse = "  DEARER", True
        elif change < -TOLERANCE:
            note = "  cheaper: record it"
        lines.append(f"{path:<30}{instructions:>12,}{known or 0:>12,}{change:>+8.1%}{note}")
    return lines, worse


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("paths", nargs="*", metavar="PATH", help="of: " + ", ".join(PATHS))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if not shutil.which("valgrind"):
        sys.exit("valgrind is needed: apt-get install valgrind")
    if unknown := set(options.paths) - set(PATHS):
        parser.error(f"no such path: {', '.join(sorted(unknown))}")
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {"compiler": compiler(), "instructions": {}}
    found = measure(options.paths or list(PATHS))
    lines, worse = judge(found, record)
    print(f"{'instructions of':<30}{'now':>12}{'recorded':>12}", *lines, sep="\n")
    if options.record:
        record = {"compiler": compiler(), "instructions": {**record["instructions"], **found}}
        RECORD.write_text(json.dumps(record, indent=1) + "\n")
    elif options.check and record["compiler"] != compiler():
        print(f"recorded with {record['compiler']}, this is {compiler()}: nothing to compare")
    elif options.check and worse:
        sys.exit("a path executes more instructions than recorded: find out why, or record it with --record")


if __name__ == "__main__":
    main()
