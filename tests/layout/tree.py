"""The files of the project as git knows them, for the searches of this folder."""

import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def tracked():
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        pytest.skip("not a git checkout")
    return [name for name in done.stdout.split("\n") if name and (ROOT / name).is_file()]


def sources(*endings):
    return [name for name in tracked() if name.endswith(endings)]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")
