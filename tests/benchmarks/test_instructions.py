"""Calls, guards, traces and compilations execute no more instructions than recorded (benchmarks/instructions.json)."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import instructions  # noqa: E402

RECORD = json.loads(instructions.RECORD.read_text())


def test_every_path_is_recorded():
    assert set(RECORD["instructions"]) == set(instructions.PATHS)


@pytest.mark.timeout(600)
@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind is not installed")
@pytest.mark.skipif(RECORD["compiler"] != instructions.compiler(), reason="recorded with another compiler")
@pytest.mark.skipif(not instructions.is_release(), reason="recorded with an optimised build")
def test_no_path_became_dearer():
    command = [sys.executable, ROOT / "benchmarks/instructions.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    print(done.stdout)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_judge_tells_dearer_from_cheaper():
    record = {"instructions": {"call": 1000, "trace": 1000, "guard": 1000}}
    lines, worse = instructions.judge({"call": 1021}, record)
    assert worse and "DEARER" in lines[0]
    lines, worse = instructions.judge({"call": 1019, "trace": 900, "new": 5}, record)
    assert not worse
    assert ["cheaper" in line for line in lines] == [False, True, False]
    assert "not recorded" in lines[2]


def test_costs_of_callees_count_once():
    text = "\n".join(
        [
            "ob=(1) /lib/_C.so",
            "fn=(1) a",
            "10 5",
            "+2 7",
            "cob=(2) /usr/bin/python",
            "cfn=(2) b",
            "calls=1 30",
            "+1 900",
            "ob=(2)",
            "fn=(2)",
            "30 900",
            "ob=(1)",
            "fn=(3) c",
            "* 4",
        ]  # fmt: skip
    )
    assert instructions.self_costs(text) == {"/lib/_C.so": 16, "/usr/bin/python": 900}
