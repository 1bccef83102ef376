#!/usr/bin/env python3
"""What kernels can be expected to take on two cards, from their programs alone: bytes, registers, occupancy, a
roofline. Nothing is run on a GPU.

    benchmarks/gpu_predicted.py [--write]

Prints a table; --write puts it into docs/performance.md between its marks. Registers are told where ptxas is found.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "python")]
PAGE = ROOT / "docs/performance.md"
BEGIN, END = "<!-- predicted: written by benchmarks/gpu_predicted.py -->", "<!-- end of predicted -->"
TARGETS = {"H100 SXM": "sm_90", "RTX 4090": "sm_89"}


def programs_of(torch, target):
    """{name: TargetProgram}"""
    from gpu_programs import programs

    from minidynamo._dynamo import config
    from minidynamo._dynamo.recording import recording

    found = {}
    for name, (function, sizes, _) in programs(torch).items():
        torch._dynamo.reset()
        arguments = [torch.ones(size) for size in sizes]
        with config.patch(target=target), recording() as record:
            torch.compile(function, backend="eager")(*arguments)
        found[name] = record.programs[0]
    return found


def rows():
    """Lines of the table: a kernel each."""
    import minidynamo as torch

    tables = {card: programs_of(torch, target) for card, target in TARGETS.items()}
    heads = " | ".join(f"{card}: occupancy | share | time" for card in tables)
    lines = [
        f"| kernel | threads | registers | moves | {heads} |",
        "|---|---|---|---|" + "---|" * 3 * len(tables),
    ]
    first = next(iter(tables))
    for name, program in tables[first].items():
        for number, kernel in enumerate(program.kernels):
            cells = [name if not number else f"{name}, then", f"{_product(kernel.grid):,} x {_product(kernel.block)}"]
            cells += [str(kernel.registers or "-"), f"{kernel.bytes / 1e6:.3g} MB"]
            for card, programs in tables.items():
                told = programs[name].kernels[number].predicted[card]
                cells += [f"{told['occupancy']:.0%}", f"{told['share']:.0%}", f"{told['seconds'] * 1e6:.1f} us"]
            lines.append(f"| {' | '.join(cells)} |")
    return lines


def _product(numbers):
    x, y, z = numbers
    return x * y * z


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="into docs/performance.md")
    args = parser.parse_args()
    table = "\n".join(rows())
    print(table)
    if args.write:
        text = PAGE.read_text(encoding="utf-8")
        pattern = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)
        PAGE.write_text(pattern.sub(lambda _: f"{BEGIN}\n\n{table}\n\n{END}", text), encoding="utf-8")


if __name__ == "__main__":
    main()
