"""Every numbered example runs, with its own checks, and prints what it promises."""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("[0-9]*.py"))
PROMISED = {
    "1_option_pricing": ["options; portfolio value", "compiled", "NumPy"],
    "2_heat": ["degrees on average", "us per step"],
    "3_image": ["edges cover", "compiled"],
    "4_graph_breaks": ["GB0059", "GB0007", "GB0098", "GB0170", "GB0124", "Graph Break Count: 5", "fix: "],
}


def test_all_examples_are_listed():
    assert {path.stem for path in EXAMPLES} == set(PROMISED)


@pytest.mark.smoke
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path):
    done = subprocess.run(
        [sys.executable, str(path), "--quick"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "python"), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for text in PROMISED[path.stem]:
        assert text in done.stdout
