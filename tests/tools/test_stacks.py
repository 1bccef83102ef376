"""Where the stack of a break begins, however the program is run."""

import os
import pathlib
import re
import subprocess
import sys
import threading

import pytest

import minidynamo

PROGRAM = """
import sys
import minidynamo as torch

@torch.compile(backend="eager")
def f(x):
    print("broken")
    return x + 1

def outer(x):
    return f(x)
"""
CALL = "outer(torch.ones(2))\n"
POOL = """
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(1) as pool:
    pool.submit(f, torch.ones(2)).result()
"""
THREAD = """
import threading
t = threading.Thread(target=outer, args=(torch.ones(2),))
t.start()
t.join()
"""
ASYNC = """
import asyncio
async def main():
    return outer(torch.ones(2))
asyncio.run(main())
"""
EXEC = "exec('outer(torch.ones(2))')\n"
TEST = "def test_it():\n    outer(torch.ones(2))\n"

# name: (the program's last lines, how it is run, its standard input, functions of the stack)
WAYS = {
    "script": (CALL, ["program.py"], None, ["<module>", "outer", "f"]),
    "module": (CALL, ["-m", "program"], None, ["<module>", "outer", "f"]),
    "exec": (EXEC, ["program.py"], None, ["<module>", "<module>", "outer", "f"]),
    "command": ("", ["-c", "from program import *; outer(torch.ones(2))"], None, ["<module>", "outer", "f"]),
    "imported": (CALL, ["-c", "import program"], None, ["<module>", ..., "<module>", "outer", "f"]),
    "runpy": (
        CALL,
        ["-c", "import runpy; runpy.run_path('program.py')"],
        None,
        ["<module>", ..., "<module>", "outer", "f"],
    ),
    "runpy main": (
        CALL,
        ["-c", "import runpy; runpy.run_path('program.py', run_name='__main__')"],
        None,
        ["<module>", "outer", "f"],
    ),
    "interactive": ("", ["-q", "-i"], f"from program import *\n{CALL}", ["<module>", "outer", "f"]),
    "pytest": (
        TEST,
        ["-m", "pytest", "-q", "-s", "-p", "no:cacheprovider", "program.py"],
        None,
        ["test_it", "outer", "f"],
    ),
    "command of pytest": (
        TEST,
        ["pytest", "-q", "-s", "-p", "no:cacheprovider", "program.py"],
        None,
        ["test_it", "outer", "f"],
    ),
    "pdb": (CALL, ["-m", "pdb", "-c", "c", "program.py"], "q\n", ["<module>", "outer", "f"]),
    "doctest": ('__doc__ = ">>> _ = outer(torch.ones(2))"\n', ["-m", "doctest", "program.py"], None, None),
    "minidynamo run": (CALL, ["-m", "minidynamo", "run", "program.py"], None, ["<module>", "outer", "f"]),
    "ipython": ("", ["-m", "IPython", "--simple-prompt", "--no-banner"], f"from program import *\n{CALL}exit\n", None),
    "pool": (POOL, ["program.py"], None, ["f"]),
    "thread": (THREAD, ["program.py"], None, ["outer", "f"]),
    "asyncio": (ASYNC, ["program.py"], None, ["<module>", ..., "main", "outer", "f"]),
}


def pytest_command():
    return os.path.join(os.path.dirname(sys.executable), "pytest")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """All ways at once: what each wrote to its standard error."""
    running = {}
    package = str(pathlib.Path(minidynamo.__file__).parents[1])
    for name, (end, arguments, given, _) in WAYS.items():
        place = tmp_path_factory.mktemp("way")
        (place / "program.py").write_text(PROGRAM + end)
        environment = {
            **os.environ,
            "MINIDYNAMO_LOGS": "graph_breaks",
            "PYTHONPATH": package,
            "IPYTHONDIR": str(place),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        running[name] = (
            subprocess.Popen(
                [sys.executable, *arguments] if arguments[0] != "pytest" else [pytest_command(), *arguments[1:]],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=place,
                env=environment,
                text=True,
            ),
            given,
        )
    return {name: process.communicate(given, timeout=100) for name, (process, given) in running.items()}


@pytest.mark.parametrize("name", WAYS)
def test_a_stack_begins_at_the_program(results, name):
    out, errors = results[name]
    text = re.sub(r"^V\d{4} \S+ \d+ \S+\] (\[\S+\] )*", "", errors or out, flags=re.M)
    assert text.count("User code traceback:") == 1, (out, errors)
    stack = text.split("User code traceback:")[1].split("\n\n")[0]
    functions = re.findall(r'File ".*", line \d+, in (\S+)', stack)
    wanted = WAYS[name][-1] or ["<module>", "outer", "f"]
    if ... in wanted:  # frames of a library between two of the program
        assert functions[: wanted.index(...)] == wanted[: wanted.index(...)]
        assert functions[-3:] == wanted[-3:]
    else:
        assert functions == wanted, stack


def test_with_verbose_nothing_is_left_out():
    from minidynamo._dynamo import program_frames

    def look():
        found.extend(program_frames.callers(False, verbose) for verbose in (True, False))

    found = []
    thread = threading.Thread(target=look)  # whoever runs the tests is not in its stack
    thread.start(), thread.join()
    every, own = found
    assert every[-len(own) :] == own and len(every) > len(own)
    assert own[0][2] == "look"
