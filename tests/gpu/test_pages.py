"""The programs of the reference pages with tensors on a device say what they say on the CPU, line by line.

The golden files are those of the CPU: beside devices by name nothing differs, in graphs, guards, breaks and results.
"""

import functools
import pathlib
import re
import subprocess
import sys

import pytest

from gpu.emulated_driver import LIBRARY
from pages.test_pages import PACKAGES, PROGRAMS, VERSION, golden_files, header, normalised

HERE = pathlib.Path(__file__).parent
ELSEWHERE = {"extension": "RuntimeError: tripled_cpu() takes tensors on the CPU"}  # what the program itself refuses
NAMES = [
    (re.compile(r'(?<=\])cuda:0(?=")'), "cpu"),  # of a value in a graph
    (re.compile(r",? device='cuda:0'"), ""),
    (re.compile(r"(?<=device=)cuda:0"), "None"),
    (re.compile(r"== device\(type='cuda', index=0\) *#"), "== None #"),
    (re.compile(r"(DEFAULT_DEVICE: .* == None) *#"), r"\1 #"),
    (re.compile(r"stack \(elided \d+ frames\)"), "stack"),  # those of whoever runs the program
]


def without_devices(text):
    for pattern, replacement in NAMES:
        text = pattern.sub(replacement, text)
    return text


@functools.cache
def run(path):
    env = {
        "PATH": "/usr/bin:/bin",
        "PYTHONPATH": PACKAGES,
        "PYTHONUNBUFFERED": "1",
        "MINIDYNAMO_CUDA_DRIVER": str(LIBRARY),
        "TORCH_LOGS": header(path, "logs"),
        "TORCH_LOGS_FORMAT": "%(message)s",
    }
    command = [sys.executable, str(HERE / "on_device.py"), str(path)]
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, normalised(done.stdout, path)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda p: p.stem)
def test_page(path):
    status, text = run(path)
    if path.stem in ELSEWHERE:
        assert status == 1 and text.rstrip().endswith(ELSEWHERE[path.stem]), text
        return
    assert status == 0, text
    assert without_devices(text) == without_devices(golden_files(path)[VERSION].read_text())


def test_most_programs_run_on_the_device():
    """A program that made its tensors elsewhere would pass as well."""
    shown = [path.stem for path in PROGRAMS if path.stem not in ELSEWHERE and "cuda:0" in run(path)[1]]
    assert len(shown) >= 20, shown
