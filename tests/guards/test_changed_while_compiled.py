"""What finalisers, signal handlers and other threads do while a function is compiled, before its new entry runs."""

import ctypes
import gc
import signal
import sys
import threading
import time

import pytest

import minidynamo as torch
from frontend.differential import Box

pytestmark = pytest.mark.usefixtures("no_defects")


def ones():
    return torch.ones(2)


def in_a_thread(change):
    thread = threading.Thread(target=change)
    thread.start()
    thread.join()


def in_a_finaliser(change):
    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            change()

    Cycle()
    gc.collect()


def in_a_signal_handler(change):
    before = signal.signal(signal.SIGUSR1, lambda *_: change())
    signal.raise_signal(signal.SIGUSR1)
    signal.signal(signal.SIGUSR1, before)


@pytest.mark.parametrize("happens", [in_a_thread, in_a_finaliser, in_a_signal_handler])
@pytest.mark.parametrize("fullgraph", [False, True])
def test_what_changes_between_trace_and_run(happens, fullgraph):
    """The backend only gives the moment, after the frame has been traced."""
    b = Box(n=0, flag=True)

    def change():
        b.n += 100
        b.flag = False

    def backend(gm, example_inputs):
        happens(change)
        return gm.forward

    def f(x):
        b.n += 1
        return x + (1 if b.flag else 2)

    assert torch.compile(f, backend=backend, fullgraph=fullgraph)(ones()).tolist() == [3, 3]
    assert b.n == 101


def test_what_changes_between_a_break_and_the_run():
    b = Box(n=0)
    changes = [0, 100]

    def backend(gm, example_inputs):
        b.n += changes.pop(0)
        return gm.forward

    def f(x):
        y = x * 2
        torch._dynamo.graph_break()
        b.n += 1
        return y + 1

    assert torch.compile(f, backend=backend)(ones()).tolist() == [3, 3]
    assert b.n == 101 and not changes


def test_a_finaliser_at_any_moment_of_a_compilation():
    b = Box(n=0)

    def f(x):
        b.n += 1
        parts = [x + k for k in range(4)]
        b.n += 1
        return sum(parts)

    class Cycle:
        def __init__(self):
            self.me = self

        def __del__(self):
            b.n += 100

    threshold = gc.get_threshold()
    try:
        for k in range(1, 200, 7):
            torch._dynamo.reset()
            gc.collect()
            b.n = 0
            Cycle()
            gc.set_threshold(k)
            torch.compile(f, backend="eager")(ones())
            gc.set_threshold(*threshold)
            gc.collect()
            assert b.n == 102
    finally:
        gc.set_threshold(*threshold)


def test_an_exception_another_thread_sets_while_compiling():
    """As plain Python: the call raises it or has not been reached by it. It is no defect, and it is not lost."""

    class Stop(Exception):
        pass

    def f(x, n):
        y = x * 2
        for k in range(20):
            y = (y + k).relu()
        return y + n

    compiled = torch.compile(f, backend="eager", dynamic=False)
    here = ctypes.c_ulong(threading.get_ident())
    started = time.perf_counter()
    compiled(ones(), -1)
    whole = time.perf_counter() - started

    def set_after(seconds, ready, go):
        ready.set()
        go.wait()
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            pass
        ctypes.pythonapi.PyThreadState_SetAsyncExc(here, ctypes.py_object(Stop))

    def was_raised(n):
        """Whether in the call; None: not at all."""
        ready, go = threading.Event(), threading.Event()
        thread = threading.Thread(target=set_after, args=(whole * n / 100, ready, go))
        thread.start()
        ready.wait()
        inside = False
        try:
            go.set()
            inside = True
            found = compiled(ones(), n).tolist()
            inside = False
            while thread.is_alive():
                time.sleep(0)
            for _ in range(1000):
                pass
        except Stop:
            return inside
        finally:
            thread.join()
        assert found == f(ones(), n).tolist()
        return None

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with torch._dynamo.config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
            for _ in range(10):  # on a busy machine the other thread may come too late each time
                seen = [was_raised(n) for n in range(100)]
                assert None not in seen
                if True in seen:
                    break
    finally:
        sys.setswitchinterval(interval)
    assert True in seen
    for n in range(100):
        assert compiled(ones(), n).tolist() == f(ones(), n).tolist()
