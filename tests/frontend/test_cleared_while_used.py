"""What a compilation or a call has in hand outlives its clearing by other threads: reset(), dying functions, regions,
replaced code and defaults, fork(). Each test runs for a short while beside compiling and calling threads."""

import gc
import os
import subprocess
import sys
import textwrap

import pytest

SECONDS = 3.0

PROLOGUE = """
import gc, os, sys, threading, time, traceback
import minidynamo as torch

stop = time.time() + {seconds}
failures = []


def made(k):
    namespace = {{}}
    exec(f"def f(x, y={{k}}, *, z=1):\\n  a = x * y\\n  print(end='')\\n  return a - z", namespace)
    return namespace["f"]


def guarded(act):
    def loop():
        try:
            while time.time() < stop:
                act()
        except BaseException:
            failures.append(traceback.format_exc())
    return loop


def compiles_anew():
    for k in range(5):
        f = made(k)
        c = torch.compile(f)
        for n in (2, 3, 4):
            got = c(torch.ones(n)).tolist()
            if got != [k - 1.0] * n:
                raise AssertionError((k, n, got))
"""

EPILOGUE = """
threads = [threading.Thread(target=guarded(act)) for act in acts]
[t.start() for t in threads]
[t.join() for t in threads]
sys.exit("\\n".join(failures[:1]) or 0)
"""

KINDS = {
    "reset": "acts = [compiles_anew] * 3 + [torch._dynamo.reset]",
    "reset_of_shared_functions": """
        shared = [torch.compile(made(k)) for k in range(4)]
        def calls():
            for k, c in enumerate(shared):
                for n in (1, 2, 3):
                    assert c(torch.ones(n)).tolist() == [k - 1.0] * n
        acts = [calls] * 3 + [torch._dynamo.reset]
    """,
    "region_dies": """
        def dies():
            f = made(3)
            def backend(graph, inputs):
                return graph.forward
            c = torch.compile(f, backend=backend)
            assert c(torch.ones(2)).tolist() == [2.0, 2.0]
            del backend, c
            gc.collect()
        acts = [dies] * 3 + [torch._dynamo.reset]
    """,
    "replaced_code": """
        f = made(1)
        c = torch.compile(f)
        codes = [made(k).__code__ for k in (1, 2)]
        def calls():
            assert c(torch.ones(2), 1).tolist()[0] in (0.0, 1.0)
        def replaces():
            f.__code__ = made(1).__code__  # nobody else has it: it dies when the next one comes
        acts = [calls] * 3 + [replaces]
    """,
    "replaced_code_long_kernels": """
        def make():
            namespace = {}
            exec("def f(x):\\n  return (x * 2 + 1).sin()", namespace)
            return namespace["f"]
        f = make()
        c = torch.compile(f)
        x = torch.ones(1 << 17)
        expected = f(x)[0].item()
        def calls():
            assert c(x)[5].item() == expected
        def replaces():
            f.__code__ = make().__code__
            torch._dynamo.reset()
        acts = [calls] * 3 + [replaces]
    """,
    "replaced_defaults": """
        f = made(1)
        c = torch.compile(f)
        def calls():
            c(torch.ones(2))
        def replaces():
            f.__defaults__ = (torch.ones(2) * 3,)
            f.__kwdefaults__ = {"z": torch.ones(2)}
        acts = [calls] * 3 + [replaces]
    """,
    "config_changes": """
        def changes():
            torch._dynamo.config.recompile_limit = 1
            torch._dynamo.config.recompile_limit = 8
            torch._dynamo.reset()
        acts = [compiles_anew] * 3 + [changes]
    """,
    "garbage_collection_resets": """
        class Cycle:
            def __init__(self): self.me = self
            def __del__(self): torch._dynamo.reset()
        gc.set_threshold(50)
        def litters():
            Cycle()
            time.sleep(0)
        acts = [compiles_anew] * 2 + [litters]
    """,
    "fork": """
        def forks():
            pid = os.fork()
            if pid == 0:
                try:
                    torch._dynamo.reset()
                    compiles_anew()
                finally:
                    os._exit(1 if sys.exc_info()[0] else 0)
            _, status = os.waitpid(pid, 0)
            assert status == 0, status
        acts = [compiles_anew] * 2 + [forks, torch._dynamo.reset]
    """,
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_in_hand_survives(kind):
    program = PROLOGUE.format(seconds=SECONDS) + textwrap.dedent(KINDS[kind]) + EPILOGUE
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", program],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)},
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_reset_forgets_that_a_limit_was_reached():
    import minidynamo as torch

    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()

    def f(x, n):
        return x + n

    c = torch.compile(f, backend=counter, dynamic=False)
    with torch._dynamo.config.patch(recompile_limit=2):
        for n in range(300):
            c(torch.ones(1), n)
        assert counter.frame_count == 2
        torch._dynamo.reset()
        c(torch.ones(1), 0)
        c(torch.ones(1), 0)
        assert counter.frame_count == 3
    del c
    gc.collect()
