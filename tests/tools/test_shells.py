"""ipdb, IPython's debugger and its %debug, python -m pdb and doctest, as programs of their own."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

import minidynamo

PROGRAM = '''
"""
>>> g(torch.ones(2))
tensor([3., 3.])
>>> g(torch.ones(3))
three
tensor([3., 3., 3.])
"""
import os
import sys
import minidynamo as torch

def mark(f):
    return f if os.environ.get("PLAIN") else torch.compile(f, backend="eager")

def inner(y):
    z = y * 2
    return z + 1

@mark
def f(x, k):
    a = x + 1
    if k == "ipdb":
        import ipdb
        ipdb.set_trace()
    elif k == "IPython":
        from IPython.core.debugger import set_trace
        set_trace()
    elif k == "breakpoint":
        breakpoint()
    b = inner(a)
    return b

@mark
def g(x):
    """
    >>> g(torch.ones(1))
    tensor([3.])
    """
    if x.shape[0] == 3:
        print("three")
    return x + 2

@mark
def h(x):
    y = x + 1
    return y.reshape(9)

if __name__ == "__main__":
    f(torch.ones(2), "")
    print(f(torch.ones(2), sys.argv[1]))
'''
SESSION = "p a\nn\nn\np b\nu\np sys.argv[1]\nd\nll\nc\n"
IPYTHON = "from program import *\nh(torch.ones(2))\n%debug\np x, y\nw\nq\nprint('after')\nexit\n"
RUNS = {
    "ipdb": (["program.py", "ipdb"], SESSION),
    "IPython": (["program.py", "IPython"], SESSION),
    "breakpoint": (["program.py", "breakpoint"], SESSION),
    "pdb": (["-m", "pdb", "program.py", "-"], "b inner\nc\np y\nu\np a\nn\nn\nr\nc\np z\nclear 1\nc\nq\n"),
    "doctest": (["-m", "doctest", "-v", "program.py"], ""),
    "debug": (["-m", "IPython", "--simple-prompt", "--no-banner", "--no-tip"], IPYTHON),
}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    running = {}
    for name, (arguments, given) in RUNS.items():
        for plain in ("1", ""):
            place = tmp_path_factory.mktemp("shell")
            (place / "program.py").write_text(PROGRAM)
            environment = {
                **os.environ,
                "PYTHONPATH": str(pathlib.Path(minidynamo.__file__).parents[1]),
                "PLAIN": plain,
                "IPYTHONDIR": str(place),
                "TERM": "dumb",
                "NO_COLOR": "1",
            }
            running[name, plain] = (
                place,
                given,
                subprocess.Popen(
                    [sys.executable, *arguments],
                    cwd=place,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                ),
            )
    found = {}
    for key, (place, given, process) in running.items():
        text = process.communicate(given, timeout=100)[0].replace(str(place), "")
        found[key] = re.sub(r"\x1b\[[\d;?]*[a-zA-Z]|0x[0-9a-f]+|-[0-9a-f]{12}|^Trying:.*", "", text)
    return found


@pytest.mark.parametrize("name", RUNS)
def test_output_is_that_of_the_plain_program(outputs, name):
    plain, compiled = outputs[name, "1"], outputs[name, ""]
    assert plain.splitlines() == compiled.splitlines()
    words = {"doctest": "3 passed", "debug": "(tensor([1., 1.]), tensor([2., 2.]))"}
    assert words.get(name, "tensor([5., 5.])") in compiled or name == "pdb" and "tensor([4., 4.])" in compiled
