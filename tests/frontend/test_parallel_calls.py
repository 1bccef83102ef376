"""Calls from several threads: long kernels let others go on, results are those of one thread, nothing is dropped under
a kernel that runs."""

import subprocess
import sys
import textwrap
import threading
import time

import pytest

import minidynamo as torch
from minidynamo._dynamo import config


def bits(tensor):
    return tensor.numpy().tobytes()


def counted_meanwhile(work):
    """How often another thread of Python got to do something while `work` ran, only where the lock was let go of."""
    counted = 0
    started, done = threading.Event(), threading.Event()

    def count():
        nonlocal counted
        started.set()
        while not done.is_set():
            counted += 1
            time.sleep(1e-5)

    before = sys.getswitchinterval()
    sys.setswitchinterval(60)
    try:
        thread = threading.Thread(target=count)
        thread.start()
        started.wait()
        at_start = counted
        work()
        seen = counted - at_start
        done.set()
        thread.join()
    finally:
        sys.setswitchinterval(before)
    return seen


def lets_others_go_on(work):
    """On a busy machine the other thread may not get a processor in time: several attempts."""
    return any(counted_meanwhile(work) for _ in range(50))


def test_a_short_call_does_not_let_go():
    x = torch.randn(8)
    assert not any(counted_meanwhile(lambda: compute(x)) for _ in range(20))


def compute(x):
    for _ in range(4):
        x = (x * 1.0001).sin() + x.cos()
    return x


@pytest.mark.parametrize("way", ["compiled", "plain", "background"])
def test_others_go_on_while_a_kernel_takes_long(way):
    x = torch.randn(4_000_000)
    with config.patch(background_compile=way == "background"):
        function = compute if way == "plain" else torch.compile(compute, fullgraph=True)
        assert lets_others_go_on(lambda: function(x))
        torch.compiler.wait_for_kernels()
        assert lets_others_go_on(lambda: function(x))


def test_products_and_convolutions_let_others_go_on():
    a, image, weight = torch.randn(700, 700), torch.randn(8, 32, 128, 128), torch.randn(32, 32, 3, 3)
    assert lets_others_go_on(lambda: a @ a)
    assert lets_others_go_on(lambda: torch.nn.functional.conv2d(image, weight))


def test_results_are_those_of_one_thread():
    inputs = [torch.randn(300_000) for _ in range(6)]
    expected = [bits(compute(x)) for x in inputs]
    compiled = torch.compile(compute, fullgraph=True)
    wrong = []

    def work(k):
        for _ in range(5):
            if bits(compiled(inputs[k])) != expected[k]:
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_inputs_another_thread_drops_live_until_the_kernel_ends():
    class Holder:
        pass

    holder = Holder()
    stop = threading.Event()

    @torch.compile(fullgraph=True)
    def read():
        return compute(holder.x)

    def replace():
        while not stop.is_set():
            holder.x = torch.full((400_000,), 0.5)

    holder.x = torch.full((400_000,), 0.5)
    expected = bits(read())
    thread = threading.Thread(target=replace)
    thread.start()
    try:
        for _ in range(60):
            assert bits(read()) == expected
    finally:
        stop.set()
        thread.join()


def test_memory_another_thread_takes_away_lives_until_the_kernel_ends():
    x = torch.full((400_000,), 0.5)
    stop = threading.Event()
    compiled = torch.compile(compute, fullgraph=True)
    expected = bits(compiled(x))

    def swap():
        while not stop.is_set():
            x.data = torch.full((400_000,), 0.5)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        for _ in range(40):
            assert bits(compiled(x)) == expected
            assert bits(compute(x)) == expected
    finally:
        stop.set()
        thread.join()


def changing(x, change):
    """Runs `change` on `x` over and over in another thread, until `stop` is called."""
    stopped = threading.Event()

    def run():
        k = 0
        while not stopped.is_set():
            change(x, k := k + 1)

    thread = threading.Thread(target=run)
    thread.start()

    def stop():
        stopped.set()
        thread.join()

    return stop


LENGTHS = (300_000, 500_000)


@pytest.mark.parametrize("way", ["plain", "in_place", "compiled", "background"])
def test_a_tensor_another_thread_gives_other_sizes_is_used_as_it_was(way):
    """Results have the one length or the other, and the values that belong to it."""

    def change(x, k):
        length = LENGTHS[k % 2]
        x.data = torch.full((length,), float(length))

    def added(x):
        return x.add_(torch.ones(1, dtype=torch.float64))

    x = torch.full((LENGTHS[0],), float(LENGTHS[0]))
    with config.patch(background_compile=way == "background"):
        compiled = torch.compile(lambda x: (x * 2).cumsum(0) + x, fullgraph=True, dynamic=True)
        compute = {"plain": lambda x: x * 2 + 0, "in_place": added}.get(way, compiled)
        stop = changing(x, change)
        try:
            for _ in range(40):
                result = compute(x).detach()  # a tensor of its own: x changes on
                first, length = result[0].item(), result.shape[0]
                assert length in LENGTHS
                if way == "in_place":  # as often as nobody came between
                    assert length <= first <= length + 40
                else:
                    assert first == (2 if way == "plain" else 3) * length
        finally:
            stop()
        torch.compiler.wait_for_kernels()


def test_memory_another_thread_enlarges_lives_until_the_kernel_ends():
    refused = []

    def enlarge(x, k):
        try:
            x.resize_(300_000 + 64 * k)
        except RuntimeError as e:
            refused.append(str(e))
        x.resize_(300_000)

    x = torch.full((300_000,), 0.5)
    expected = bits(compute(x))
    compiled = torch.compile(compute, fullgraph=True, dynamic=False)
    view = x[:]  # has its own sizes, and the memory of x
    stop = changing(x, enlarge)
    try:
        for _ in range(40):
            assert bits(compute(view)) == bits(compiled(view)) == expected
    finally:
        stop()
    assert all("another thread is computing with" in text for text in refused)


def test_reset_and_compilation_while_kernels_run():
    x = torch.randn(300_000)
    expected = bits(compute(x))
    wrong = []

    def work():
        for _ in range(20):
            if bits(torch.compile(compute)(x)) != expected:
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for t in threads:
        t.start()
    for _ in range(30):
        torch._dynamo.reset()
    for t in threads:
        t.join()
    assert not wrong


@pytest.mark.parametrize("daemon", [True, False])
def test_the_process_ends_while_kernels_run(daemon):
    script = f"""
        import threading
        import minidynamo as torch
        x = torch.randn(3_000_000)
        f = torch.compile(lambda x: x.sin() + x.cos())
        f(x)  # CPython does not survive a daemon thread that imports while it ends
        def work():
            for _ in range(30):
                f(x)
                x * 2
        for _ in range(3):
            threading.Thread(target=work, daemon={daemon}).start()
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stderr) == (0, "")


class Account:
    balance = 0


def test_other_threads_run_where_they_would_in_plain_python():
    """Nowhere between the instructions after the last call and the end, which a graph break comes between."""

    def deposit(x, account):
        positive = x.sum() > 0
        balance = account.balance
        if positive:
            account.balance = balance + 1
        return balance

    def deposits(call, times):
        account = Account()

        def work():
            for _ in range(times):
                call(x, account)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return account.balance

    x = torch.ones(3)
    compiled = torch.compile(deposit, dynamic=True)
    account = Account()
    for _ in range(20):
        compiled(x, account)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        assert deposits(deposit, 3000) == 9000
        assert deposits(compiled, 3000) == 9000
    finally:
        sys.setswitchinterval(interval)
