"""Block kernels at once, machine code from a thread in the background: nothing but time tells them apart."""

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import minidynamo as torch
from minidynamo._dynamo import config

wait = torch.compiler.wait_for_kernels


@pytest.fixture(autouse=True)
def in_background():
    with config.patch(background_compile=True):
        yield
    wait()


def unlike(number):
    """Source that no kernel in the cache has been made for."""
    space = {"torch": torch}
    exec(f"def f(x, y):\n    return torch.sin(x * {number} + y).relu() - {number}", space)
    return space["f"]


def bits(tensor):
    return tensor.numpy().tobytes()


def test_same_bits():
    arguments = [torch.randn(3, 50), torch.randn(50)]
    for number in range(20):
        f = unlike(number + 0.0625)
        compiled = torch.compile(f, fullgraph=True)
        first = compiled(*arguments)
        wait()
        assert bits(first) == bits(compiled(*arguments)) == bits(f(*arguments))


def test_writes_to_arguments_happen_once_in_each_tier():
    def f(x):
        x.add_(1.03125)
        return x * 2

    compiled = torch.compile(f, fullgraph=True)
    x = torch.zeros(4)
    for call in range(1, 5):
        assert (compiled(x) == x * 2).all()
        assert (x == 1.03125 * call).all()
        if call == 2:
            wait()


def test_a_failing_operation_raises_at_its_line_in_each_tier():
    def f(x, y):
        x.add_(1)
        return x // y  # fails here

    compiled = torch.compile(f, fullgraph=True)
    good = torch.tensor([3, 4]), torch.tensor([1, 2])
    for _ in range(2):
        x = torch.tensor([5, 6])
        with pytest.raises(RuntimeError, match="ZeroDivisionError|division by zero") as caught:
            compiled(x, torch.tensor([1, 0]))
        assert caught.traceback[-1].lineno + 1 == f.__code__.co_firstlineno + 2
        assert x.tolist() == [6, 7]
        compiled(*good)
        wait()


def test_random_numbers_go_on():
    def f(x):
        return torch.rand(5) + x

    torch.manual_seed(7)
    expected = [f(torch.zeros(5)) for _ in range(4)]
    compiled = torch.compile(f, fullgraph=True)
    torch.manual_seed(7)
    found = []
    for _ in range(4):
        found.append(compiled(torch.zeros(5)))
        wait()
    assert [bits(t) for t in found] == [bits(t) for t in expected]


def test_sizes_that_are_symbols():
    def f(x):
        return (x[1:] * x.shape[0]).sum() + x[:-1]

    compiled = torch.compile(f, fullgraph=True, dynamic=True)
    for n in (5, 9, 3, 1000):
        x = torch.arange(n, dtype=torch.float32)
        assert bits(compiled(x)) == bits(f(x))
        wait()
        assert bits(compiled(x)) == bits(f(x))


def test_threads_call_while_kernels_change():
    x, y = torch.randn(1000), torch.randn(1000)
    for number in range(30):
        f = unlike(number + 0.03125)
        expected = bits(f(x, y))
        compiled = torch.compile(f)
        wrong = []

        def work(compiled=compiled, expected=expected, wrong=wrong):
            for _ in range(50):
                if bits(compiled(x, y)) != expected:
                    wrong.append(1)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong


def test_modes():
    x, y = torch.randn(64), torch.randn(64)
    for number, mode in enumerate((None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")):
        f = unlike(number + 0.015625)
        compiled = torch.compile(f, mode=mode)
        for _ in range(30):
            assert bits(compiled(x, y)) == bits(f(x, y))
    with pytest.raises(RuntimeError, match="Unrecognized mode=quick"):
        torch.compile(unlike(1), mode="quick")


def test_max_autotune_runs_effects_once():
    def f(x):
        x.mul_(1.5).add_(1)
        return x.sum()

    x, y = torch.ones(8), torch.ones(8)
    compiled = torch.compile(f, mode="max-autotune", fullgraph=True)
    for _ in range(30):
        assert bits(compiled(x)) == bits(f(y))
        assert bits(x) == bits(y)


def test_a_backend_of_the_users_gets_the_mode():
    got = []

    def backend(module, inputs, **options):
        got.append(options)
        return module.forward

    for mode in (None, "default", "reduce-overhead"):
        torch.compile(lambda x: x + 1, backend=backend, mode=mode)(torch.ones(2))
    assert got == [{}, {"mode": "reduce-overhead"}]  # "default" is what None is


def test_constants_and_inputs_of_the_program_outlive_the_background():
    array = np.arange(6.0)

    def make():
        constant = torch.from_numpy(array)
        return torch.compile(lambda x: x * constant.sum() + constant[:1])

    x = torch.ones(3, dtype=torch.float64)
    for _ in range(50):
        assert make()(x).tolist() == [15.0] * 3  # and is dropped while the background works on it
    wait()


SCRIPT = """
    import os, signal, sys
    import minidynamo as torch
    def unlike(number):
        space = {"torch": torch}
        exec(f"def f(x):\\n    return torch.sin(x * {number}) + {number}", space)
        return torch.compile(space["f"])
    x = torch.ones(4)
    functions = [unlike(n + 0.25) for n in range(200)]
    results = [f(x) for f in functions]
"""


def run(ending, **settings):
    code = textwrap.dedent(SCRIPT) + textwrap.dedent(ending)
    environment = {**os.environ, "MINIDYNAMO_BACKGROUND_COMPILE": "1", **settings}
    return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)


def test_the_process_ends_while_work_waits():
    for ending, status in (("", 0), ("sys.exit(3)", 3), ("os._exit(4)", 4), ("raise KeyboardInterrupt", 130)):
        done = run(ending)
        assert done.returncode in (status, -2 if status == 130 else status), done.stderr
        assert "minidynamo" not in done.stderr


def test_a_forked_child_goes_on():
    done = run("""
        child = os.fork()
        same = all((f(x) == r).all() for f, r in zip(functions, results))
        torch.compiler.wait_for_kernels()
        same = same and all((f(x) == r).all() for f, r in zip(functions, results))
        if not child:
            os._exit(0 if same else 5)
        assert same and os.waitpid(child, 0)[1] == 0
    """)
    assert done.returncode == 0, done.stderr


def test_the_setting_is_an_environment_variable():
    script = "import minidynamo; print(minidynamo._dynamo.config.background_compile)"
    for value in ("0", "1"):
        environment = {**os.environ, "MINIDYNAMO_BACKGROUND_COMPILE": value}
        printed = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True)
        assert printed.stdout.strip() == str(value == "1")


def test_an_alarm_ends_the_wait():
    done = run("""
        import signal, time

        def ring(*_):
            raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        started = time.monotonic()
        try:
            torch.compiler.wait_for_kernels()
        except KeyboardInterrupt:
            print("rung", time.monotonic() - started < 1)
    """)
    assert done.stdout.strip().endswith("rung True"), done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["reduce-overhead", "max-autotune"])
def test_other_threads_go_on_while_code_is_made_at_once(mode):
    body = "".join(f"    x = (x * {len(mode) + n / 64} + {n}).tanh()\n" for n in range(600))
    space = {}
    exec(f"def f(x):\n{body}    return x\n", space)
    compiled, x = torch.compile(space["f"], mode=mode), torch.ones(8)
    stalls, over = [], threading.Event()

    def tick():
        last = time.monotonic()
        while not over.is_set():
            time.sleep(0.001)
            now = time.monotonic()
            stalls.append(now - last)
            last = now

    other = threading.Thread(target=tick)
    other.start()
    started = time.monotonic()
    compiled(x)
    took = time.monotonic() - started
    over.set()
    other.join()
    assert max(stalls) < 0.6 * took
