"""What ptxas makes of all kernels of the corpus: registers, spills, stack and shared memory of each, kept in
assembled.json, which may only get better.

    python -m tests.gpu.assembled --write    assembles what has changed and writes the file anew

The file holds a digest of each kernel's texts: what has not changed since it was written was assembled then, and is not
assembled again.
"""

import argparse
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
RATCHET = HERE / "assembled.json"
AHEAD_OF_TIME = ROOT / "build/backend/device_kernels"
GENERATED = ("sm_75", "sm_80", "sm_90")  # each has a text of its own
ASSEMBLED = {"sm_75": "sm_75", "sm_80": "sm_80", "sm_90": "sm_90", "sm_100": "sm_90"}  # architecture -> whose text
NUMBERS = ("registers", "spills", "stack", "shared")
_TOGETHER = 24  # kernels in one text: starting the assembler takes as long as some kernels
_HEADER = ".address_size 64"
# Names that a text has beside its entry: they are its own.
_FUNCTION = re.compile(r"\.func\s+(?:\([^)]*\)\s*)?(\w+)")
_VARIABLE = re.compile(r"^\s*(?:\.(?:visible|weak)\s+)?\.(?:global|const)\s[^;\n{]*?(\w+)\s*(?:\[|=|;)", re.MULTILINE)


def version():
    """Of the ptxas that is found."""
    from minidynamo._targets import assembler

    said = subprocess.run([assembler.ptxas(), "--version"], capture_output=True, text=True, check=True).stdout
    return re.search(r"release ([\d.]+)", said)[1]


def texts_here(target, every_op=True):
    """{label: text} of the kernels of one target, those with the same text once; every entry is called `kernel`."""
    from .corpus import programs

    found, known = {}, set()
    for label, program in programs(target, every_op):
        for number, kernel in enumerate(program.kernels):
            text = re.sub(rf"\b{kernel.entry}(?=\b|_param)", "kernel", kernel.source)
            if text and text not in known:
                known.add(text)
                found[f"{label}: {number} {kernel.name}"] = text
    return found


def texts():
    """{label: {target: text}}; each target's in a process of its own, at the same time."""
    command = [sys.executable, "-m", "tests.gpu.assembled", "--texts"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(ROOT)])}

    def made(target):
        done = subprocess.run(
            [*command, target], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(f"no programs for {target}: {done.stderr[-2000:]}")
        return json.loads(done.stdout)

    found = {}
    with ThreadPoolExecutor(len(GENERATED)) as pool:
        for target, rows in zip(GENERATED, pool.map(made, GENERATED)):
            for label, text in rows.items():
                found.setdefault(label, {})[target] = text
    return found


def digest(by_target):
    return hashlib.sha256("\0".join([f"{t} {by_target[t]}" for t in sorted(by_target)]).encode()).hexdigest()[:16]


def texts_ahead_of_time():
    """{name of the file: text} of the kernels that are compiled with the library."""
    return {path.name: path.read_text() for path in sorted(AHEAD_OF_TIME.glob("*.ptx"))}


def is_known(rows, label, by_target):
    """Whether the file tells of this very text."""
    return rows.get(label, [""])[0] == digest(by_target)


def _ptxas(architecture, text):
    """(what it says of each entry, "") or (None, its complaint)"""
    from minidynamo._targets import assembler

    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder, "all.ptx")
        source.write_text(text)
        command = [assembler.ptxas(), f"-arch={architecture}", "-v", str(source), "-o", f"{folder}/all.cubin"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None, done.stderr.strip()[:2000] or f"it ended with {done.returncode}"
    return assembler.resources(done.stderr), ""


def _row(used):
    return [used["registers"], used["spill_stores"] + used["spill_loads"], used["stack"], used["shared"]]


def _assemble_file(arguments):
    """Of all its entries together: the most registers and shared memory, the sum of spills and stacks."""
    architecture, text = arguments
    used, complaint = _ptxas(architecture, text)
    if used is None:
        return complaint
    registers, spills, stacks, shared = zip(*map(_row, used.values()))
    return [max(registers), sum(spills), sum(stacks), max(shared)]


def _is_for(text, architecture):
    """A text is for its target and what came later."""
    return int(re.search(r"\.target sm_(\d+)", text)[1]) <= int(architecture.removeprefix("sm_"))


def assemble_files(found):
    """As assemble(), of texts with many entries each."""
    work = [(name, a) for name, text in found.items() for a in ASSEMBLED if _is_for(text, a)]
    numbers = {name: {} for name in found}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        made = pool.map(_assemble_file, [(architecture, found[name]) for name, architecture in work])
        for (name, architecture), row in zip(work, made):
            numbers[name][architecture] = row
    return numbers


def _assemble(arguments):
    architecture, rows = arguments
    bodies, header = [], ""
    for number, (_, text) in enumerate(rows):
        header, _, body = text.partition(_HEADER)
        names = ["kernel", *_FUNCTION.findall(body), *_VARIABLE.findall(body)]
        for name in dict.fromkeys(names):
            body = re.sub(rf"\b{name}(?=\b|_param)", f"{name}_{number}", body)
        bodies.append(body)
    used, complaint = _ptxas(architecture, header + _HEADER + "\n" + "\n".join(bodies))
    if used is None:
        return {label: complaint for label, _ in rows} if len(rows) == 1 else _one_by_one(arguments)
    return {label: _row(used[f"kernel_{number}"]) for number, (label, _) in enumerate(rows)}


def _one_by_one(arguments):
    """To tell which of them is refused."""
    architecture, rows = arguments
    found = {}
    for row in rows:
        found |= _assemble((architecture, [row]))
    return found


def assemble(found):
    """{label: {architecture: [registers, spills, stack, shared]}}, or a text in the place of numbers: an error."""
    work = []
    for architecture, target in ASSEMBLED.items():
        rows = [(label, by_target[target]) for label, by_target in found.items() if target in by_target]
        work += [(architecture, rows[k : k + _TOGETHER]) for k in range(0, len(rows), _TOGETHER)]
    numbers = {}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for (architecture, _), made in zip(work, pool.map(_assemble, work)):
            for label, row in made.items():
                numbers.setdefault(label, {})[architecture] = row
    return numbers


def worse(before, after):
    """The names of numbers that have become worse. Registers are given out by eights: fewer do not matter."""
    found = []
    for name, old, new in zip(NUMBERS, before, after):
        if (-(-new // 8) > -(-old // 8)) if name == "registers" else new > old:
            found.append(f"{name} {old} -> {new}")
    return found


def read():
    return json.loads(RATCHET.read_text())


def write(found, numbers, files, of_files):
    """The file, a line for each kernel, and one for each file of kernels compiled with the library."""
    lines = [f"{json.dumps(k)}: {json.dumps([digest({'': files[k]}), of_files[k]])}" for k in sorted(files)]
    rows = [f"{json.dumps(k)}: {json.dumps([digest(found[k]), numbers[k]])}" for k in sorted(found)]
    text = f'{{"ptxas": {json.dumps(version())}, "numbers": {json.dumps(NUMBERS)}, "kernels": {{\n'
    RATCHET.write_text(text + ",\n".join(rows) + '\n}, "files": {\n' + ",\n".join(lines) + "\n}}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="assemble what has changed, write assembled.json")
    parser.add_argument("--texts", metavar="TARGET", help="print the kernels' texts as JSON")
    args = parser.parse_args()
    if args.texts:
        print(json.dumps(texts_here(args.texts)))
    elif args.write:
        known = read() if RATCHET.exists() else {}
        if known.get("ptxas") != version():
            known = {"kernels": {}, "files": {}}
        found, files = texts(), texts_ahead_of_time()
        numbers = {k: known["kernels"][k][1] for k in found if is_known(known["kernels"], k, found[k])}
        numbers |= assemble({k: by_target for k, by_target in found.items() if k not in numbers})
        of_files = {k: known["files"][k][1] for k in files if is_known(known["files"], k, {"": files[k]})}
        of_files |= assemble_files({k: text for k, text in files.items() if k not in of_files})
        if errors := [
            f"{k}, {a}: {row}"
            for k, rows in {**numbers, **of_files}.items()
            for a, row in rows.items()
            if row is str(row)
        ]:
            sys.exit("\n".join(errors[:20]))
        write(found, numbers, files, of_files)
        print(f"{len(found)} kernels, {sum(map(len, numbers.values()))} assembled")
    else:
        parser.error("--write or --texts")


if __name__ == "__main__":
    main()
