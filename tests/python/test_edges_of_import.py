"""Unusable values of MINIDYNAMO_CPU; no extension; a backend whose compiled function fails is called once."""

import importlib.machinery
import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

import minidynamo as torch


def imported(cpu):
    program = "import minidynamo as t; print(t.compile(lambda x: x + 1, backend='inductor')(t.zeros(2)).tolist())"
    env = {**os.environ, "MINIDYNAMO_CPU": cpu, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("cpu", ["nonsense", "skylake", "x86-64-v9", " ", "X86-64-V3", "native", "x" * 10000])
def test_an_unusable_processor_is_refused_at_import(cpu):
    done = imported(cpu)
    assert done.returncode == 1 and "ImportError: MINIDYNAMO_CPU is" in done.stderr
    assert "x86-64-v3" in done.stderr


@pytest.mark.parametrize("cpu", ["", "x86-64", "x86-64-v2"])
def test_usable_ones(cpu):
    done = imported(cpu)
    assert done.returncode == 0 and done.stdout.strip() == "[1.0, 1.0]", done.stderr


def fail(error):
    raise error


FAILURES = {
    "ValueError": lambda: fail(ValueError("x")),
    "MemoryError": lambda: fail(MemoryError()),
    "KeyboardInterrupt": lambda: fail(KeyboardInterrupt()),
    "an op": lambda: torch.zeros(2).view(3),
    "None": lambda: None,
    "a number": lambda: 3,
    "no tensor": lambda: ["a"],
}
FUNCTIONS = {
    "one output": lambda x: x + 1,
    "two": lambda x: (x + 1, x * 2),
    "a write": lambda x: x.add_(1),
}


@pytest.mark.parametrize("warm", [False, True])
@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_backend_is_called_once(failure, function, warm):
    calls = []
    failing = not warm

    def backend(gm, inputs):
        def run(*args):
            calls.append(1)
            return FAILURES[failure]() if failing else gm(*args)

        return run

    compiled = torch.compile(FUNCTIONS[function], backend=backend)
    if warm:
        compiled(torch.zeros(2))
        compiled(torch.zeros(2))
    failing = True
    for _ in range(3):
        calls.clear()
        with pytest.raises(BaseException):  # noqa: B017  which one is the backend's affair
            compiled(torch.zeros(2))
        assert len(calls) == 1


def test_an_extension_that_is_not_built_is_explained(tmp_path):
    """The module that explains it is run from a folder without, with another's, and with this Python's extension."""
    source = pathlib.Path(torch.__file__).with_name("_extension.py")
    copy = tmp_path / "_extension.py"
    copy.write_text(source.read_text())
    spec = importlib.util.spec_from_file_location("_extension", copy)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    error = ImportError("cannot import name '_C'")
    assert "is not built for this Python" in str(module.explained(error))
    (tmp_path / "_C.cpython-39-x86_64-linux-gnu.so").touch()
    assert "there is _C.cpython-39-x86_64-linux-gnu.so. In a checkout" in str(module.explained(error))
    (tmp_path / f"_C{importlib.machinery.EXTENSION_SUFFIXES[0]}").touch()
    assert module.explained(error) is error
