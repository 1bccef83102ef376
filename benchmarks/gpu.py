#!/usr/bin/env python3
"""Kernels and models on a GPU: milliseconds, and the share of the bandwidth that a copy reaches there.

    benchmarks/gpu.py [--out FILE.json] [--torch PYTHON] [--no-peers] [--rounds N] [--small]

Times are those of the device's own events: the least of several. torch, plain and compiled, runs the same programs
where it is installed with CUDA: in this interpreter, or in the one named by --torch. The device is named in what is
written. Without one it says why and ends with 0: nothing was measured. On the emulated driver, whose devices say so in
their names, times mean nothing; --small shows there that everything runs.
"""

import argparse
import importlib
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent


def seconds(torch, call, rounds):
    """The least time of a call between two events of the device."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    shortest = float("inf")
    for _ in range(rounds):
        begin.record()
        call()
        end.record()
        end.synchronize()
        shortest = min(shortest, begin.elapsed_time(end) / 1e3)
    return shortest


def copy_bandwidth(torch, elements, rounds):
    """Bytes a second, read and written, of a copy between two tensors."""
    source, target = (torch.ones(elements, device="cuda") for _ in range(2))
    target.copy_(source)
    return 2 * 4 * elements / seconds(torch, lambda: target.copy_(source), rounds)


def shrunk(sizes):
    return [tuple([min(each, 96) for each in size]) for size in sizes]


def allow_tensor_cores(torch, allowed):
    torch.set_float32_matmul_precision("high" if allowed else "highest")
    if hasattr(torch.backends.cuda.matmul, "fold_order"):  # torch has no choice for halves
        torch.backends.cuda.matmul.fold_order = "any" if allowed else "defined"


def cases(torch):
    """(name, function, sizes, products, dtype) of all programs, those with products also on tensor cores."""
    from gpu_programs import programs

    for name, (function, sizes, products) in programs(torch).items():
        allow_tensor_cores(torch, False)
        yield name, function, sizes, products, torch.float32
        if not products:
            continue
        yield f"{name} f16", function, sizes, products, torch.float16
        allow_tensor_cores(torch, True)
        yield f"{name} tf32", function, sizes, products, torch.float32
        yield f"{name} f16 mma", function, sizes, products, torch.float16
    allow_tensor_cores(torch, False)


def measure(module, rounds, small):
    """What one module takes, as a dictionary; {"why": ...} where it has no device."""
    torch = importlib.import_module(module)
    if not torch.cuda.is_available():
        return {"why": why_not(torch)}
    from gpu_programs import SIZE

    torch.manual_seed(0)
    best = copy_bandwidth(torch, 1 << 10 if small else SIZE, rounds)
    found = {"version": torch.__version__, "device": torch.cuda.get_device_name(), "copy_gb_per_s": best / 1e9}
    found["programs"] = {}
    for name, function, sizes, products, dtype in cases(torch):
        if small and ("GPT" in name or name == "layer norm"):
            continue
        arguments = [(torch.rand(size, device="cuda") + 0.5).to(dtype) for size in (shrunk(sizes) if small else sizes)]
        row = {}
        for kind, call in (("plain", function), ("compiled", torch.compile(function))):
            with torch.no_grad():
                result = call(*arguments)
                getattr(torch.compiler, "wait_for_kernels", lambda: None)()
                for _ in range(3):
                    result = call(*arguments)
                row[f"{kind}_ms"] = seconds(torch, lambda c=call, a=arguments: c(*a), rounds) * 1e3
        moved = sum(t.numel() * t.element_size() for t in [*arguments, result])
        row["moved_mb"] = moved / 1e6
        row["tflops"] = 2 * products / row["compiled_ms"] / 1e9 if products else None
        row["share_of_copy"] = None if products else moved / (row["compiled_ms"] / 1e3) / best
        found["programs"][name] = row
    return found


def why_not(torch):
    """In the driver's words."""
    try:
        torch.cuda.current_device()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "there is none"


def peer(python, rounds, small):
    """torch's numbers, from another process; None where it is not there, or has no device."""
    command = [python, str(HERE / "gpu.py"), "--of", "torch", "--rounds", str(rounds), *(["--small"] if small else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {"why": done.stderr[-500:].strip()}
    return found


def table(found):
    sides = {name: rows for name, rows in found.items() if "programs" in rows}
    lines = []
    for name, rows in sides.items():
        lines.append(f"{name} {rows['version']} on {rows['device']}: copies at {rows['copy_gb_per_s']:.1f} GB/s")
    heads = [f"{name} {kind}" for name in sides for kind in ("plain", "compiled")]
    lines.append(f"{'':20}" + "".join(f"{head:>22}" for head in heads) + f"{'share of copy':>16}")
    for program, row in sides["minidynamo"]["programs"].items():
        cells = [sides[name]["programs"].get(program, {}) for name in sides]
        numbers = [cell.get(f"{kind}_ms") for cell in cells for kind in ("plain", "compiled")]
        share = f"{row['share_of_copy']:.0%}" if row["share_of_copy"] else f"{row['tflops'] or 0:.1f} TFLOPS"
        lines.append(
            f"{program:20}" + "".join(f"{n:>19.3f} ms" if n else f"{'-':>22}" for n in numbers) + f"{share:>16}"
        )
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("--torch", metavar="PYTHON", default=sys.executable, help="an interpreter that has torch")
    parser.add_argument("--no-peers", action="store_true", help="without torch")
    parser.add_argument("--rounds", type=int, default=30, help="of which the least time counts")
    parser.add_argument("--small", action="store_true", help="tiny sizes: only whether everything runs")
    parser.add_argument("--of", metavar="MODULE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sys.path[:0] = [str(HERE), str(ROOT / "python")]
    if args.of:
        print(json.dumps(measure(args.of, args.rounds, args.small)))
        return 0
    found = {"minidynamo": measure("minidynamo", args.rounds, args.small)}
    if "why" in found["minidynamo"]:
        print(f"There is no GPU here, nothing was measured: {found['minidynamo']['why']}")
        return 0
    if not args.no_peers:
        found["torch"] = peer(args.torch, args.rounds, args.small)
    print(table(found))
    if args.out:
        os.makedirs(os.path.dirname(args.out) or ".", exist_ok=True)
        pathlib.Path(args.out).write_text(json.dumps(found, indent=1) + "\n")
        print(f"All numbers: {args.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
