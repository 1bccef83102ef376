"""While one thread waits for a device the others go on, and Ctrl-C is heard after it."""

import ctypes
import gc
import pathlib
import subprocess
import sys
import threading

import pytest

import minidynamo as torch

from .emulated_driver import LIBRARY

EMULATOR = ctypes.CDLL(str(LIBRARY))
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def python_on_the_stream(function):
    """Queues a call that needs the interpreter's lock: who waits for the stream and keeps the lock waits for ever."""
    torch.cuda.current_stream().query()  # makes the device's context the thread's
    called = HOST_FUNCTION(lambda _: function())
    assert EMULATOR.cuLaunchHostFunc(ctypes.c_void_p(torch.cuda.current_stream().cuda_stream), called, None) == 0
    return called


def to_host(x):
    return x.cpu()


def into_host(x):
    return torch.empty(4).copy_(x)


def into_device(x):
    return torch.empty(4, device="cuda").copy_(torch.arange(4.0))


WAITS = {
    "cpu": to_host,
    "turned": lambda x: x.reshape(2, 2).T.double().cpu(),
    "copy_ to the host": into_host,
    "copy_ to the device": into_device,
    "item": lambda x: x.sum().item(),
    "tolist": lambda x: x.tolist(),
    "numpy": lambda x: x.numpy(force=True),
    "print": lambda x: repr(x),
    "branch": lambda x: bool(x.sum() > 1),
    "synchronize": lambda x: torch.cuda.synchronize(),
    "stream": lambda x: torch.cuda.current_stream().synchronize(),
}


@pytest.mark.parametrize("wait", WAITS.values(), ids=WAITS)
def test_other_threads_go_on(wait):
    x, seen = torch.arange(4.0).cuda(), []
    expected = repr(wait(x))
    kept = python_on_the_stream(lambda: seen.append(1))
    assert repr(wait(x)) == expected and seen and kept


def test_an_event():
    seen, event = [], torch.cuda.Event()
    kept = python_on_the_stream(lambda: seen.append(1))
    event.record()
    event.synchronize()
    assert seen and kept


CTRL_C = """
import sys

sys.path[:0] = sys.argv[1:]
import os, signal, threading
from gpu.test_waits import WAITS, python_on_the_stream, torch

for name in ("cpu", "item", "copy_ to the device", "synchronize"):
    x, begun = torch.arange(4.0).cuda(), threading.Event()
    kept = python_on_the_stream(lambda: begun.wait(20) and os.kill(os.getpid(), signal.SIGINT))
    try:
        begun.set()
        WAITS[name](x)
        for _ in range(1000):  # a signal is heard between two instructions
            pass
    except KeyboardInterrupt:
        assert torch.equal(x.cpu(), torch.arange(4.0))
    else:
        raise AssertionError(name)
"""


def test_ctrl_c_during_a_wait():
    tests = str(pathlib.Path(__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", CTRL_C, tests], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_tensors_that_others_change_meanwhile():
    x, y = torch.arange(1000.0).cuda(), torch.zeros(1000)
    view, begun, changed = y[:], threading.Event(), threading.Event()

    def change():
        begun.wait(20)
        y.set_(torch.ones(2))
        x.set_(torch.empty(3, device="cuda"))
        gc.collect()
        changed.set()

    thread, before = threading.Thread(target=change), sys.getswitchinterval()
    thread.start()
    kept = python_on_the_stream(lambda: changed.wait(20) and None)
    sys.setswitchinterval(20)  # this thread goes on until it waits
    try:
        begun.set()
        y.copy_(x)
    finally:
        sys.setswitchinterval(before)
    thread.join()
    assert kept and changed.is_set() and y.shape == (2,) and x.shape == (3,)
    assert torch.equal(view, torch.arange(1000.0))  # the copy went where it was to go
