"""The kernels compiled ahead of time: AMD's compiler takes them too, and an entry's module is the part of its file
that it needs. (test_assembled.py gives the files to the assembler.)
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from minidynamo import _C
from minidynamo._targets import assembler

ROOT = Path(__file__).resolve().parents[2]
COMPILER = shutil.which("clang++-19") or "/usr/lib/llvm-19/bin/clang++"

pytestmark = pytest.mark.version_free


def headers_of_the_host():
    told = subprocess.run([COMPILER, "-x", "c++", "-E", "-v", "/dev/null"], capture_output=True, text=True).stderr
    found = told.split("search starts here:\n")[-1].split("End of search list")[0].split()
    return [part for folder in found if "/clang/" not in folder for part in ("-isystem", folder)]


@pytest.mark.parametrize("processor", ("gfx90a", "gfx1100"))
@pytest.mark.parametrize("name", ("products", "scans", "positions", "bodies_bool", "searching"))
def test_compiled_for_amd(name, processor, tmp_path):
    command = [COMPILER, "--target=amdgcn-amd-amdhsa", f"-mcpu={processor}", "-nogpulib", "-c", "-O1", "-std=c++20"]
    command += ["-ffp-contract=off", "-fno-math-errno", "-fno-exceptions", "-fno-rtti", "-D__x86_64__", "-D_GNU_SOURCE"]
    command += ["-w", "-nostdinc++", *headers_of_the_host(), f"-I{ROOT}", f"-I{ROOT}/build/generated"]
    command += [ROOT / f"backend/device_blocks/kernels/{name}.cpp", "-o", tmp_path / "kernels.o"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[:2000]
    assert (tmp_path / "kernels.o").read_bytes()[:4] == b"\x7fELF"


def test_a_module_holds_one_entry_and_what_it_needs(tmp_path):
    entries = _C._device_kernels()
    assert len(entries) >= 600 and entries == sorted(entries)
    for name in ("Add_f32", "Sin_f64", "Sum_rows_f32", "product_bf16", "write_keys"):
        text = _C._device_kernel_text(name)
        assert re.findall(r"\.entry (\w+)", text) == [name]
        tables = re.findall(r"\.global [^=;]*?(\w+)\[\d+\] = ", text)
        assert all(len(re.findall(rf"\b{table}\b", text)) > 1 for table in tables)
        file = tmp_path / f"{name}.ptx"
        file.write_text(text)
        subprocess.run([assembler.ptxas(), "-arch=sm_90", file, "-o", tmp_path / "a.cubin"], check=True)
