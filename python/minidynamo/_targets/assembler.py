"""Assemblers of other processors, found where they are installed: ptxas for PTX; llc and ld.lld for AMD's code objects.

Nothing of them is part of this package.
"""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

_SECONDS = 120  # that an assembler may take
_ENTRY = re.compile(r"Compiling entry function '([\w$.]+)'")
_FUNCTION = re.compile(r"Function properties for ([\w$.]+)")
_NUMBERS = {
    "registers": re.compile(r"Used (\d+) registers"),
    "stack": re.compile(r"(\d+) bytes stack frame"),
    "spill_stores": re.compile(r"(\d+) bytes spill stores"),
    "spill_loads": re.compile(r"(\d+) bytes spill loads"),
    "shared": re.compile(r"(\d+) bytes smem"),
}


class CannotAssemble(Exception):
    """The assembler refuses a text, or there is none; what it says."""


@functools.cache
def ptxas():
    """The path of ptxas (MINIDYNAMO_PTXAS, the PATH, the package nvidia-cuda-nvcc of this Python), or None."""
    named = os.environ.get("MINIDYNAMO_PTXAS")
    if named is not None:
        return shutil.which(named)
    found = shutil.which("ptxas")
    if found is None:
        for folder in sys.path:
            for place in Path(folder or ".").glob("nvidia/*/bin/ptxas"):
                if os.access(place, os.X_OK):
                    return str(place)
    return found


@functools.cache
def _llvm_tool(name):
    """A tool of LLVM 19 or newer, which older ones do not read the text of."""
    for each in (f"{name}-19", f"{name}-20", f"{name}-21", name):
        found = shutil.which(each)
        if found is not None:
            return found
    return None


def _run(command, given=None):
    try:
        done = subprocess.run(command, input=given, capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotAssemble(f"{command[0]}: {error}") from error
    if done.returncode:
        said = (done.stderr or done.stdout).decode("utf-8", "replace").strip()
        raise CannotAssemble(said or f"{command[0]} ended with {done.returncode}")
    return done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace")


@functools.lru_cache(maxsize=256)
def assemble(text, target):
    """{entry: {"registers", "stack", "spill_stores", "spill_loads", "shared"}} of a PTX text, as ptxas tells it.

    CannotAssemble where it finds an error, or is not there.
    """
    if ptxas() is None:
        raise CannotAssemble("there is no ptxas: pip install nvidia-cuda-nvcc-cu12, or name it by MINIDYNAMO_PTXAS")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "kernel.ptx")
        source.write_text(text, encoding="utf-8")
        return resources(_run([ptxas(), f"-arch={target}", "-v", str(source), "-o", str(Path(folder, "kernel.cubin"))]))


def resources(said):
    """What `ptxas -v` says, by entry."""
    found, entry, current = {}, None, None
    for line in said.split("\n"):
        if name := _ENTRY.search(line):
            entry = found.setdefault(name[1], dict.fromkeys(_NUMBERS, 0))
        elif name := _FUNCTION.search(line):  # an entry's own, or of what it calls
            current = found.get(name[1], {})
        for number, pattern in _NUMBERS.items():
            of = entry if number in ("registers", "shared") else current
            if of is not None and (value := pattern.search(line)):
                of[number] = int(value[1])
    return found


def code_object(ir, target):
    """The code object (ELF) of a text of LLVM IR for a GPU of AMD, by llc and ld.lld of LLVM 19 or newer.

    CannotAssemble where one of them is missing or refuses.
    """
    llc, linker = _llvm_tool("llc"), _llvm_tool("ld.lld")
    if llc is None or linker is None:
        raise CannotAssemble(
            f"there is no {'llc' if llc is None else 'ld.lld'} of LLVM 19: on Debian, llvm-19 and lld-19"
        )
    with tempfile.TemporaryDirectory() as folder:
        made, linked = str(Path(folder, "kernel.o")), Path(folder, "kernel.hsaco")
        command = [llc, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-O3", "-filetype=obj", "-", "-o", made]
        _run(command, ir.encode())
        _run([linker, "-shared", made, "-o", str(linked)])
        return linked.read_bytes()


def assembly(ir, target):
    """The same as text, for readers."""
    llc = _llvm_tool("llc")
    if llc is None:
        raise CannotAssemble("there is no llc of LLVM 19: on Debian, llvm-19")
    return _run([llc, "-mtriple=amdgcn-amd-amdhsa", f"-mcpu={target}", "-O3", "-", "-o", "-"], ir.encode())
