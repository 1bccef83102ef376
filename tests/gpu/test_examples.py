"""The numbered examples on the emulated device: their own checks hold, and they say what they say on the CPU.

Each compares compiled with plain execution to the bit; lines about times and addresses are left out here.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from gpu.emulated_driver import LIBRARY
from pages.test_pages import PACKAGES

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "examples"
EXAMPLES = sorted(FOLDER.glob("[0-9]*.py"))
FOR_THE_CPU = {
    "07_numpy_programs": "its functions take NumPy's arrays",
    "08_pages": "its programs are those of test_pages.py",
}
# The order of their batches comes from the stream of the CPU, noise from that of the device: two where there is one.
OTHER_NUMBERS = {"09_digits_training", "12_digits_vae"}
MEASURED = re.compile(r"\bms\b|us per|x the time|took|were compiled in|0x[0-9a-f]+|built-in method")


def said(path, device):
    """The example's output without what differs from run to run."""
    env = {**os.environ, "PYTHONPATH": PACKAGES, "MINIDYNAMO_CUDA_DRIVER": str(LIBRARY)}
    command = [sys.executable, str(path), "--tiny", "--device", device]
    done = subprocess.run(command, capture_output=True, text=True, env=env, cwd=FOLDER)
    assert done.returncode == 0, done.stdout + done.stderr
    return [line for line in done.stdout.splitlines() if not MEASURED.search(line)]


@pytest.mark.parametrize("path", [p for p in EXAMPLES if p.stem not in FOR_THE_CPU], ids=lambda p: p.stem)
def test_example(path):
    there = said(path, "cuda")
    assert any("Checked" in line or "to the bit" in line for line in there) or path.stem == "05_digits", there
    if path.stem not in OTHER_NUMBERS:
        assert there == said(path, "cpu")


def test_the_rest_takes_no_device():
    assert {*FOR_THE_CPU} | OTHER_NUMBERS <= {path.stem for path in EXAMPLES}
    command = [sys.executable, str(FOLDER / "07_numpy_programs.py"), "--device", "cuda"]
    assert subprocess.run(command, capture_output=True, env={**os.environ, "PYTHONPATH": PACKAGES}).returncode == 2
