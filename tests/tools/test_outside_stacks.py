"""py-spy and faulthandler: stacks that are read while compiled code runs, or is being made, name the functions."""

import functools
import gc
import itertools
import os
import pathlib
import re
import subprocess
import sys

import pytest

import minidynamo

PROGRAM = '''
import faulthandler, os, signal, subprocess, sys, threading, time
import minidynamo as torch

READ, WRITE = os.pipe()
spy = os.path.join(os.path.dirname(sys.executable), "py-spy")
main = threading.main_thread().ident


def read(name):
    """The stacks, by both, of all threads."""
    print("==", name, flush=True)
    subprocess.run([spy, "dump", "--pid", str(os.getpid())], stdout=1)
    print("--", flush=True)
    faulthandler.dump_traceback(1, all_threads=True)


def while_reading(name, act, times):
    """`act` again and again until the stacks have been read."""
    done = threading.Event()
    reader = threading.Timer(0.05, lambda: ([read(name) for _ in range(times)], done.set()))
    reader.start()
    while not done.is_set():
        act()
    reader.join()


def product(y):
    return y @ y


@torch.compile(backend="eager")
def kernel(x):
    z = x + 1
    return product(z).sum()


@torch.compile
def machine_code(x):
    return torch.sin(x).exp().cos() + x


@torch.compile(backend="eager")
def resumed(x):
    z = x + 1
    sys.stdout.flush()
    return product(z).sum()


def waits(z):
    time.sleep(0.3)
    return z + 2


@torch.compile(backend="eager")
def broken(x):
    z = x + 1
    w = waits(z)
    return w * 2


def slow_backend(gm, example_inputs):
    time.sleep(1)
    return gm.forward


@torch.compile(backend=slow_backend)
def compiling(x):
    return x + 1


@torch.compile(backend="eager")
def traced(x):
    for _ in range(3000):
        x = torch.sin(x)
    return x


def tracing():
    torch._dynamo.reset()
    traced(torch.ones(1))


torch._dynamo.config.background_compile = False
big, small = torch.ones(900, 900), torch.ones(2)
kernel(small), machine_code(small), resumed(small)
torch.compile(lambda x: x * 2, backend=lambda gm, example_inputs: gm.forward)(small)  # imports what that takes
SHORT = ("kernel", "machine code", "resumed")  # what is read may be what stands between two calls
for name, act in {
    "kernel": lambda: kernel(big),
    "machine code": lambda: machine_code(big),
    "resumed": lambda: resumed(big),
    "broken": lambda: broken(small),
    "compiling": lambda: compiling(small),
    "tracing": tracing,
}.items():
    while_reading(name, act, 6 if name in SHORT else 1)
'''
WANTED = {
    "kernel": ["kernel"],
    "machine code": ["machine_code"],
    "resumed": ["resumed"],
    "broken": ["waits", "broken"],
    "compiling": ["slow_backend", "compiling"],
    "tracing": ["traced", "tracing"],
}


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """By name, each time: what py-spy says of the main thread, and what faulthandler says of all."""
    file = tmp_path_factory.mktemp("outside") / "program.py"
    file.write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(minidynamo.__file__).parents[1])}
    done = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    found = {}
    for part in re.split(r"^== ", done.stdout, flags=re.M)[1:]:
        name, _, text = part.partition("\n")
        spy, fault = text.split("--\n")
        main = spy.split('"MainThread"')[1].split("Thread ")[0]
        (of_main,) = [section for section in fault.split("\n\n") if "in <module>" in section]
        read = (
            re.findall(r"(\S+) \(program\.py:(\d+)\)", main),
            re.findall(r'program\.py", line (\d+) in (\S+)', of_main),
        )
        found.setdefault(name, []).append(read)
    return found


@pytest.mark.parametrize("name", WANTED)
def test_functions_are_named(dumps, name):
    wanted, lines = WANTED[name], PROGRAM.splitlines()
    spied = [[function for function, _ in spy] for spy, _ in dumps[name]]
    assert all(functions[-1] == "<module>" for functions in spied)
    if name != "tracing":  # which may be between two traces
        assert wanted in [functions[: len(wanted)] for functions in spied], spied
        faults = [[function for _, function in fault] for _, fault in dumps[name]]
        assert wanted in [functions[: len(wanted)] for functions in faults], faults
    for spy, _ in dumps[name]:
        for function, line in spy:
            if function in wanted:
                assert function in lines[int(line) - 1] or lines[int(line) - 1].startswith(("    ", "@"))


CRASHES = """
import faulthandler, ctypes, os, signal
import minidynamo as torch
faulthandler.enable()
def callback(x):
    os.kill(os.getpid(), signal.SIGSEGV)
    return x
def backend(gm, example_inputs):
    return lambda *args: callback(gm.forward(*args))
@torch.compile(backend=backend)
def crashes(x):
    return x + 1
crashes(torch.ones(2))
"""


def test_a_crash_in_a_callback_names_the_compiled_function(tmp_path):
    file = tmp_path / "program.py"
    file.write_text(CRASHES)
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(minidynamo.__file__).parents[1])}
    done = subprocess.run([sys.executable, file], env=environment, capture_output=True, text=True, timeout=100)
    names = re.findall(r'program\.py", line \d+ in (\S+)', done.stderr)
    assert names == ["callback", "<lambda>", "crashes", "<module>"]


def test_python_code_does_not_see_these_frames():
    """Neither callers by `f_back`, nor frames of other threads, nor tracebacks, nor the place of a warning."""
    seen = []

    def backend(gm, example_inputs):
        frame = sys._getframe()
        while frame is not None:
            seen.append(frame.f_code.co_name)
            frame = frame.f_back
        seen.append(sys._current_frames()[__import__("threading").get_ident()].f_code.co_name)
        return gm.forward

    def shown(x):
        return x + 1

    minidynamo.compile(shown, backend=backend)(minidynamo.ones(2))
    assert seen[0] == "backend" and "shown" not in seen and seen[-1] == "backend"


@pytest.mark.parametrize("closed_over", [False, True])
def test_c_code_that_asks_for_the_innermost_frame_is_given_one_that_lasts(closed_over):
    """Called by no Python code, it may meet the frame that is only shown."""
    shift = 2

    def plain(x):
        y = x + 1
        return y

    def closure(x):
        y = x + shift
        return y

    seen = []
    for ask in (sys._getframe, globals, locals, dir, vars):

        def backend(gm, example_inputs, ask=ask):
            return functools.partial(next, map(seen.append, itertools.starmap(ask, [()])))

        minidynamo._dynamo.reset()
        with pytest.raises(TypeError, match="tuple or list"):
            minidynamo.compile(closure if closed_over else plain, backend=backend)(minidynamo.ones(1))
    frame, *spaces = seen
    gc.collect()
    assert frame.f_code.co_name in ("plain", "closure") or frame.f_code.co_filename == __file__
    assert frame.f_locals is not None and frame.f_lineno > 0
    while frame is not None:
        back = frame.f_back
        if frame.f_code.co_name in ("plain", "closure"):
            frame.clear()
        frame = back
    assert spaces[0]["__name__"] == __name__
