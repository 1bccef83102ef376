#!/usr/bin/env python3
"""How long a graph takes to become a program for a GPU: milliseconds from a traced graph to PTX. No card is needed.

    benchmarks/gpu_compile.py [--ops N] [--triton PYTHON]

The graph is a chain of elementwise operations on one tensor, with new constants each time; processor time is counted.
Triton makes PTX of the same
chain where it is installed: in this interpreter, or in the one named by --triton.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python")]
ROUNDS = 8
STEPS = (
    "{v} * {k}.5 + x",
    "abs({v}) + {k}.25",
    "where({v} > {k}.0, {v}, x)",
    "sqrt(abs({v}) + {k}.75)",
    "{v} - x * {k}.125",
)


def chain(ops, seed):
    """(lines of Python, how many operations they are)"""
    lines, count = [], 0
    while count < ops:
        step = STEPS[len(lines) % len(STEPS)]
        lines.append(f"v = {step.format(v='v' if lines else 'x', k=len(lines) + seed)}")
        count += (2, 2, 2, 3, 2)[(len(lines) - 1) % len(STEPS)]
    return lines, count


def of_minidynamo(ops):
    """Seconds of each round, and operations: the time a first call takes longer with a target than without."""
    import minidynamo as torch
    from minidynamo import _events
    from minidynamo._dynamo import config

    told = []
    subscription = _events.subscribe(lambda event: told.append(event.program), ["target_program"])
    found, x = [], torch.ones(64)
    for seed in range(ROUNDS):
        spent = []
        for target in ("", "sm_90"):
            lines, count = chain(ops, 1000 * seed + 7)
            scope = {"abs": torch.abs, "where": torch.where, "sqrt": torch.sqrt}
            exec("def f(x):\n    " + "\n    ".join([*lines, "return v"]), scope)
            with config.patch(target=target):
                start = time.process_time()
                torch.compile(scope["f"], backend="eager", fullgraph=True)(x)
                spent.append(time.process_time() - start)
        found.append(spent[1] - spent[0])
    subscription.remove()
    return {"seconds": found[2:], "ops": count, "kernels": len(told[-1]["launches"])}


def of_triton(ops):
    """Seconds of each round, from a kernel's source to PTX and no further."""
    import importlib.util

    import triton
    from triton.backends.compiler import GPUTarget
    from triton.backends.nvidia.compiler import CUDABackend

    CUDABackend.make_cubin = lambda *given, **more: b""  # the assembler's part is not asked for
    found = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(ROUNDS):
            lines, count = chain(ops, 1000 * seed + 7)
            lines = [
                each.replace("where(", "tl.where(").replace("sqrt(", "tl.sqrt(").replace("abs(", "tl.abs(")
                for each in lines
            ]
            path = pathlib.Path(folder, f"kernel_{seed}.py")
            path.write_text(
                "import triton\nimport triton.language as tl\n\n\n@triton.jit\ndef f(p, q, n, SIZE: tl.constexpr):\n"
                "    at = tl.program_id(0) * SIZE + tl.arange(0, SIZE)\n    x = tl.load(p + at, mask=at < n)\n    "
                + "\n    ".join([*lines, "tl.store(q + at, v, mask=at < n)"])
                + "\n"
            )
            spec = importlib.util.spec_from_file_location(f"kernel_{seed}", path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            source = triton.compiler.ASTSource(
                module.f,
                signature={"p": "*fp32", "q": "*fp32", "n": "i32", "SIZE": "constexpr"},
                constexprs={"SIZE": 1024},
            )
            start = time.process_time()
            triton.compile(source, target=GPUTarget("cuda", 90, 32))
            found.append(time.process_time() - start)
    return {"seconds": found[2:], "ops": count, "version": triton.__version__}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ops", type=int, default=100)
    parser.add_argument("--triton", metavar="PYTHON", default=sys.executable, help="an interpreter that has triton")
    parser.add_argument("--of-triton", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.of_triton:
        print(json.dumps(of_triton(args.ops)))
        return
    found = {"minidynamo": of_minidynamo(args.ops)}
    command = [args.triton, __file__, "--of-triton", "--ops", str(args.ops)]
    with tempfile.TemporaryDirectory() as cache:
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "TRITON_CACHE_DIR": cache}, check=False
        )
    if done.returncode == 0:
        found["triton"] = json.loads(done.stdout.splitlines()[-1])
    for name, row in found.items():
        times = sorted(row["seconds"])
        least, median = times[0] * 1e3, times[len(times) // 2] * 1e3
        print(f"{name}: {row['ops']} operations to PTX: {least:.2f} ms, median {median:.2f}")
    if "triton" not in found:
        print(f"Triton: not here ({(done.stderr.strip().splitlines() or ['?'])[-1]})")


if __name__ == "__main__":
    main()
