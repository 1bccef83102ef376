"""No lock of ours is waited for by a thread that holds the interpreter's, nor by the one that has it, nor in the child
of a fork."""

import collections
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

import minidynamo as torch
from minidynamo._dynamo import message
from minidynamo._dynamo.utils import counters


def test_what_is_looked_up_once_is_not_waited_for():
    """Code of the program runs in each look-up, in two threads at a time."""
    program = """
        import contextlib, random, sys, threading, types
        import minidynamo as torch
        import minidynamo.polyfills.library

        torch._dynamo.config.trace_more = True
        in_step, asked = threading.Barrier(2), 0

        class Slow(types.ModuleType):
            @property
            def Random(self):
                global asked
                asked += 1
                with contextlib.suppress(threading.BrokenBarrierError):
                    in_step.wait()
                return random.Random

        def noisy(x, rng):
            return x + rng.random() * 0

        def as_noisy(x, rng):
            return x - rng.random() * 0

        def call(f):
            assert torch.compile(f, backend="eager")(torch.ones(2), random.Random(0)).tolist() == [1, 1]
            in_step.abort()

        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))  # the compiler's own tables are there
        slow = sys.modules["random"] = Slow("random")
        slow.__dict__.update({k: v for k, v in vars(random).items() if k != "Random"})
        thread = threading.Thread(target=call, args=[as_noisy])
        thread.start()
        call(noisy)
        thread.join()
        assert asked
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.usefixtures("no_defects")
def test_code_of_the_program_compiles_while_a_break_is_counted():
    def inner(x):
        torch._dynamo.graph_break()
        return x + 1

    def outer(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y - 1

    compiled_inner, found = torch.compile(inner, backend="eager"), []

    class CallsBack(collections.Counter):
        def __missing__(self, key):
            if not found:
                found.append(None)
                found[0] = compiled_inner(torch.ones(2)).tolist()
            return 0

    counters["graph_break"] = CallsBack()
    try:
        assert torch.compile(outer, backend="eager")(torch.ones(2)).tolist() == [1, 1]
        assert found == [[2, 2]]
    finally:
        del counters["graph_break"]


def test_a_child_forked_while_a_lock_is_held_goes_on():
    def f(x):
        y = x * 2
        torch._dynamo.graph_break()
        return y + 1

    torch.compile(f, backend="eager")(torch.ones(2))
    torch._dynamo.reset()
    held, forked = threading.Event(), threading.Event()

    def hold():
        with message.lock:
            held.set()
            forked.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()
    try:
        if (child := os.fork()) == 0:
            signal.alarm(30)
            right = torch.compile(f, backend="eager")(torch.ones(2)).tolist() == [3, 3]
            os._exit(0 if right else 1)
    finally:
        forked.set()
        thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
