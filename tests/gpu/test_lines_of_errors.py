"""Errors of kernels name the line of the program: at once where launches are waited for, else as far as it is known."""

import os
import pathlib
import re
import subprocess
import sys
import textwrap

import pytest

from .emulated_driver import LIBRARY

# A tensor on memory that is the device's, and nobody's by now.
HEAD = """\
import minidynamo as torch
from minidynamo import nn
torch._dynamo.config.background_compile = False

class Gone:
    __cuda_array_interface__ = {"shape": (64,), "typestr": "<f4", "data": (0x7000_7000_0000, False), "version": 3}

def gone():
    return torch.as_tensor(Gone(), device="cuda")

"""


def failure(program, tmp_path, **environment):
    """The last line of the traceback, and the last line of the program in it."""
    path = pathlib.Path(tmp_path, "program.py")
    path.write_text(HEAD + textwrap.dedent(program))
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        env={**os.environ, "MINIDYNAMO_CUDA_DRIVER": str(LIBRARY), **environment},
        timeout=120,
    )
    assert done.returncode == 1, done.stderr
    places = re.findall(rf'File "{re.escape(str(path))}", line (\d+)', done.stderr)
    return done.stderr.strip().splitlines()[-1], path.read_text().splitlines()[int(places[-1]) - 1].strip(), path


def line_of(path, text):
    return next(n for n, line in enumerate(path.read_text().splitlines(), 1) if text in line)


EAGER = """
    x = gone()
    y = x + 1  # here
    z = torch.ones(64, device="cuda").cumsum(0)
    print(y.cpu())
    """


def test_an_op_is_told_later(tmp_path):
    text, line, _ = failure(EAGER, tmp_path)
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text and "CUDA_LAUNCH_BLOCKING=1" in text and "# here" not in line


def test_an_op_is_told_where_launches_are_waited_for(tmp_path):
    text, line, _ = failure(EAGER, tmp_path, CUDA_LAUNCH_BLOCKING="1")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text and line == "y = x + 1  # here"
    assert "may be of an earlier one" not in text


@pytest.mark.parametrize(
    "ops",
    ["y = x * 2 + 1  # here", "y = x.cumsum(0)  # here", "y = x.sort()[0]  # here"],
    ids=["fused", "scan", "sort"],
)
@pytest.mark.parametrize("mode", [None, "reduce-overhead"])
def test_compiled_graphs(ops, mode, tmp_path):
    program = f"""
    def f(x):
        {ops}
        return y

    y = torch.compile(f, mode={mode!r})(gone())
    print(y.cpu())
    """
    text, line, path = failure(program, tmp_path)
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text and f", for {path}:{line_of(path, '# here')}" in text.replace(
        "(for", ", for"
    )
    text, line, path = failure(program, tmp_path, CUDA_LAUNCH_BLOCKING="1")
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text and f"for {path}:{line_of(path, '# here')}" in text


def test_a_way_back(tmp_path):
    program = """
    def f(x, w):
        y = x * w
        return y.tanh()  # here

    x, w = torch.ones(64, device="cuda", requires_grad=True), torch.ones(64, device="cuda")
    y = torch.compile(f)(x, w)
    y.backward(gone())
    print(x.grad.cpu())
    """
    text, _, path = failure(program, tmp_path)
    lines = [line_of(path, mark) for mark in ("# here", "y = x * w")]
    assert "CUDA_ERROR_ILLEGAL_ADDRESS" in text and any(f"for {path}:{n}" in text for n in lines), text


INDEX = """
    x, i = torch.ones(8, device="cuda"), torch.tensor([1, 9], device="cuda")
    def f(x, i):
        y = x + 1
        return y[i]  # here
    f = F(f)
    y = f(x, i)
    z = x * 2
    z.cpu()
    """


@pytest.mark.parametrize("given", ["lambda f: f", "torch.compile", "torch.compile(mode='reduce-overhead')"])
def test_what_a_kernel_finds_wrong(given, tmp_path):
    text, line, _ = failure(INDEX.replace("F(f)", f"({given})(f)"), tmp_path)
    assert text.startswith("IndexError: index 9 is out of bounds") and "z" in line
    text, line, _ = failure(INDEX.replace("F(f)", f"({given})(f)"), tmp_path, CUDA_LAUNCH_BLOCKING="1")
    assert text.startswith("IndexError: index 9 is out of bounds") and line == "return y[i]  # here"
