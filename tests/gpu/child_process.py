"""Programs of these tests run in one process of their own, which has found the emulated driver before anything else.

The process of the tests has none: what is tested elsewhere is a machine without devices.
"""

import importlib
import inspect
import os
import pathlib
import subprocess
import sys
import traceback

import pytest

HERE = pathlib.Path(__file__).parent
_children = {}


def programs_of(module):
    """The names of the functions of a module of this folder, for @pytest.mark.parametrize; no program is run."""
    source = (HERE / f"{module}.py").read_text()
    lines = source.splitlines()
    heads = [line.split("(")[0].removeprefix("def ") for line in lines if line.startswith("def ") and "():" in line]
    return [name for name in heads if not name.startswith("_")]


def run(module, name, **environment):
    """Runs a function without arguments in a process with two emulated devices; fails as it does."""
    key = tuple(sorted(environment.items()))
    child = _children.get(key)
    if child is None or child.poll() is not None:
        child = _children[key] = _started(environment)
    child.stdin.write(f"{module} {name}\n")
    child.stdin.flush()
    said = []
    for line in child.stdout:
        if line == "\x00done\n":
            return
        if line == "\x00failed\n":
            pytest.fail("".join(said), pytrace=False)
        said.append(line)
    pytest.fail(f"{name} ended the process ({child.wait()}):\n" + "".join(said), pytrace=False)


def _started(environment):
    from gpu.emulated_driver import LIBRARY

    chosen = {
        "MINIDYNAMO_CUDA_DRIVER": str(LIBRARY),
        "MINIDYNAMO_EMULATOR_DEVICES": "sm_90:2G,sm_80:1G",
        "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent), os.environ.get("PYTHONPATH", "")]),
        "PYTHONFAULTHANDLER": "1",
    }
    return subprocess.Popen(
        [sys.executable, str(HERE / "child_process.py")],
        env={**os.environ, **chosen, **environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
    )


def _serve():
    for line in sys.stdin:
        module, name = line.split()
        try:
            function = getattr(importlib.import_module(module), name)
            assert not inspect.signature(function).parameters
            function()
        except BaseException:  # noqa: BLE001  it is told as it is
            print(traceback.format_exc(), end="")
            print("\x00failed", flush=True)
        else:
            print("\x00done", flush=True)


if __name__ == "__main__":
    _serve()
