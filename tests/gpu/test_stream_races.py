"""The emulated driver finds work of two streams that touches the same bytes with nothing that orders it."""

import ast
import ctypes
import os
import subprocess
import sys

import pytest

from gpu.emulated_driver import LIBRARY, emulated
from gpu.test_driver_graphs import ADD_ONE

pytestmark = pytest.mark.version_free


def race(driver):
    """What was found first, if it is races of streams alone (both sides may notice one), or nothing."""
    found = driver.findings()
    assert all(f["kind"] == "race of streams" and f["code"] == 719 for f in found), found
    return found[0]["text"] if found else ""


def begin(driver):
    driver.start()
    function = driver.function(ADD_ONE, "add_one")
    return function, driver.stream(), driver.stream(), driver.upload(b"\0" * 4096)


def launch(driver, function, address, stream):
    driver.launch(function, address, block=(4, 1, 1), stream=stream)


@emulated(devices="sm_90:64M")
def test_two_kernels(driver):
    function, a, b, x = begin(driver)
    launch(driver, function, x, a)
    launch(driver, function, x, b)
    assert driver.code("cuCtxSynchronize") == 719
    text = race(driver)
    assert "that were" in text and "by kernel add_one of stream" in text and "does not wait for it" in text


@emulated(devices="sm_90:64M")
def test_other_bytes_are_no_race(driver):
    function, a, b, x = begin(driver)
    launch(driver, function, x, a)
    launch(driver, function, x + 16, b)
    driver("cuMemsetD8Async", x + 32, 1, 8, a)
    driver("cuMemsetD8Async", x + 40, 1, 8, b)
    driver("cuCtxSynchronize")
    assert not race(driver)


def by_event(driver, a, b):
    event = driver.event(2)
    driver("cuEventRecord", event, a)
    driver("cuStreamWaitEvent", b, event, 0)


def by_event_that_is_passed(driver, a, b):
    event = driver.event(2)
    driver("cuEventRecord", event, a)
    while driver.code("cuStreamQuery", a):
        pass
    driver("cuStreamWaitEvent", b, event, 0)


def by_third_stream(driver, a, b):
    other = driver.stream()
    by_event(driver, a, other)
    by_event(driver, other, b)


def by_waiting_host(driver, a, b):
    driver("cuStreamSynchronize", a)


def by_asking_host(driver, a, b):
    while driver.code("cuStreamQuery", a):
        pass


def by_event_of_host(driver, a, b):
    event = driver.event(2)
    driver("cuEventRecord", event, a)
    driver("cuEventSynchronize", event)


def by_copy_that_waits(driver, a, b):
    address = driver.upload(b"1234")
    driver("cuMemcpyDtoHAsync_v2", ctypes.create_string_buffer(4), address, 4, a)


@pytest.mark.parametrize(
    "order",
    [
        by_event, by_event_that_is_passed, by_third_stream, by_waiting_host, by_asking_host, by_event_of_host,
        by_copy_that_waits,
    ],
)  # fmt: skip
def test_what_orders_streams(order):
    @emulated(devices="sm_90:64M", delay="random:5:200")
    def ordered(driver):
        function, a, b, x = begin(driver)
        for first, second in ((a, b), (b, a), (a, b)):
            launch(driver, function, x, first)
            order(driver, first, second)
            launch(driver, function, x, second)
            order(driver, second, first)
        driver("cuCtxSynchronize")
        assert not race(driver) and driver.download(x, 1) == b"\6"

    ordered()


@emulated(devices="sm_90:64M")
def test_an_event_that_comes_too_early(driver):
    function, a, b, x = begin(driver)
    event = driver.event(2)
    driver("cuEventRecord", event, a)
    launch(driver, function, x, a)
    driver("cuStreamWaitEvent", b, event, 0)
    launch(driver, function, x, b)
    assert driver.code("cuCtxSynchronize") == 719 and race(driver)


@emulated(devices="sm_90:64M")
def test_the_default_stream(driver):
    function, a, _, x = begin(driver)
    blocking = driver.stream(0)
    launch(driver, function, x, 0)
    launch(driver, function, x, blocking)  # waits for the default stream, and that for it
    launch(driver, function, x, 0)
    driver("cuCtxSynchronize")
    assert not race(driver)
    launch(driver, function, x, 0)
    launch(driver, function, x, a)
    assert driver.code("cuCtxSynchronize") == 719 and race(driver)


@emulated(devices="sm_90:64M")
def test_reads_alone_are_no_race(driver):
    _, a, b, x = begin(driver)
    y = driver.allocate(4096)
    driver("cuMemcpyDtoDAsync_v2", y, x, 1024, a)
    driver("cuMemcpyDtoDAsync_v2", y + 1024, x, 1024, b)
    driver("cuCtxSynchronize")
    assert not race(driver)


COPIES = {
    "fill and copy": lambda d, f, x, p, a, b: (
        d("cuMemsetD8Async", x, 1, 64, a), d("cuMemcpyDtoDAsync_v2", x + 256, x + 60, 8, b),
    ),
    "copy and fill": lambda d, f, x, p, a, b: (
        d("cuMemcpyDtoDAsync_v2", x + 256, x, 64, a), d("cuMemsetD8Async", x + 63, 1, 1, b),
    ),
    "upload and kernel": lambda d, f, x, p, a, b: (
        d("cuMemcpyHtoDAsync_v2", x, p, 16, a), launch(d, f, x, b),
    ),
    "kernel and download": lambda d, f, x, p, a, b: (
        launch(d, f, x, a), d.code("cuMemcpyDtoHAsync_v2", p, x, 16, b),
    ),
}  # fmt: skip


@pytest.mark.parametrize("work", COPIES.values(), ids=COPIES)
def test_copies_and_fills(work):
    @emulated(devices="sm_90:64M")
    def found(driver):
        function, a, b, x = begin(driver)
        work(driver, function, x, driver.pinned(16), a, b)
        assert driver.code("cuCtxSynchronize") == 719
        assert "wait for" in race(driver)

    found()


@emulated(devices="sm_90:64M")
def test_launches_of_one_graph_wait_for_each_other(driver):
    function, a, b, x = begin(driver)
    driver("cuStreamBeginCapture_v2", a, 0)
    launch(driver, function, x, a)
    launch(driver, function, x, a)
    ready = driver.get("cuGraphInstantiateWithFlags", driver.get("cuStreamEndCapture", a, last=True), 0)
    driver("cuGraphLaunch", ready, a)
    driver("cuGraphLaunch", ready, b)
    driver("cuCtxSynchronize")
    assert not race(driver)
    driver("cuGraphLaunch", ready, a)
    launch(driver, function, x, b)
    assert driver.code("cuCtxSynchronize") == 719 and race(driver)


@emulated(devices="sm_90:64M", checks="fast")
def test_fast_checks_leave_it_out(driver):
    function, a, b, x = begin(driver)
    launch(driver, function, x, a)
    launch(driver, function, x, b)
    driver("cuMemsetD8Async", x, 1, 64, a)
    driver("cuCtxSynchronize")
    assert not race(driver)


@emulated(devices="sm_90:64M")
def test_many_launches(driver):
    """Tags of launches are few, and used again."""
    function, a, b, x = begin(driver)
    for _ in range(1100):
        launch(driver, function, x, a)
        launch(driver, function, x + 64, b)
    driver("cuCtxSynchronize")
    assert not race(driver)
    launch(driver, function, x, b)
    for _ in range(3):
        launch(driver, function, x + 128, a)
    launch(driver, function, x, a)
    assert driver.code("cuCtxSynchronize") == 719 and race(driver)


HEAD = """
import ctypes, json, pathlib, threading
import minidynamo as torch

library = ctypes.CDLL(str(pathlib.Path(torch.__file__).with_name("libminidynamo_cuda_emulated.so")))
library.mdEmulatorFindings.restype = ctypes.c_size_t


def found():
    text = ctypes.create_string_buffer(1 << 16)
    library.mdEmulatorFindings(text, ctypes.c_size_t(len(text)))
    return [f["kind"] for f in json.loads(text.value)]


def ends(program):
    try:
        program()
        torch.cuda.synchronize()
    except torch.AcceleratorError as error:
        told = "race of streams", "has touched", "that nobody wrote"
        assert any(words in str(error) for words in told), error  # the user is told
    return found()


side = torch.cuda.Stream()
"""

RACES = {
    "a stream that does not wait": """
def program():
    x = torch.ones(100, device="cuda")
    with torch.cuda.stream(side):
        y = x + 1
""",
    "a result used too early": """
def program():
    x = torch.ones(100, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x + 1
    y.sum()
""",
    "memory that another stream still uses": """
def program():
    x = torch.ones(100, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x + 1
    del x
    torch.zeros(100, device="cuda")
""",
    "a copy that nobody waited for": """
def program():
    x = torch.ones(100).pin_memory()
    with torch.cuda.stream(side):
        y = x.to("cuda", non_blocking=True)
    y + 1
""",
    "two threads on one tensor": """
def program():
    x = torch.ones(100, device="cuda")
    torch.cuda.synchronize()

    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            for _ in range(3):
                x.add_(1)

    threads = [threading.Thread(target=work) for _ in range(2)]
    [t.start() for t in threads]
    [t.join() for t in threads]
""",
    "a compiled graph": """
def program():
    x = torch.ones(100, device="cuda")
    fast = torch.compile(lambda x: (x.cumsum(0), x.add_(1)), mode="reduce-overhead")
    fast(x)
    with torch.cuda.stream(side):
        fast(x)
        x.add_(1)
    x.add_(1)
""",
}

IN_ORDER = {
    "wait_stream": """
def program():
    x = torch.ones(100, device="cuda")
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        y = x + 1
    torch.cuda.current_stream().wait_stream(side)
    assert (y + x).sum().item() == 300
""",
    "record_stream": """
def program():
    for k in range(5):
        x = torch.full((100,), float(k), device="cuda")
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            y = x + 1
            x.record_stream(side)
        del x
        z = torch.zeros(100, device="cuda")
        torch.cuda.current_stream().wait_stream(side)
        assert (y + z).sum().item() == 100 * (k + 1)
""",
    "events": """
def program():
    x, done = torch.ones(100).pin_memory(), torch.cuda.Event()
    with torch.cuda.stream(side):
        y = x.to("cuda", non_blocking=True)
        done.record()
    done.wait()
    assert (y + 1).sum().item() == 200
    with torch.cuda.stream(side):
        z = y + 1
        done.record()
    done.synchronize()
    assert (z + 1).sum().item() == 300
""",
    "threads with tensors of their own": """
def program():
    def work():
        with torch.cuda.stream(torch.cuda.Stream()):
            x = torch.ones(100, device="cuda")
            for k in range(10):
                x = x.cumsum(0) * 0 + k
            assert x.sum().item() == 900

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
""",
    "training on a stream": """
def program():
    net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).cuda()
    step = torch.compile(lambda x: net(x).square().mean(), mode="reduce-overhead")
    optimizer = torch.optim.Adam(net.parameters())
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for _ in range(3):
            optimizer.zero_grad()
            step(torch.randn(6, 4).cuda()).backward()
            optimizer.step()
    torch.cuda.current_stream().wait_stream(side)
    net(torch.randn(6, 4).cuda()).sum().item()
""",
}


def run_program(program, tmp_path):
    path = tmp_path / "program.py"
    path.write_text(HEAD + program + "\nprint(ends(program))\n")
    done = subprocess.run(
        [sys.executable, str(path)],
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "MINIDYNAMO_CUDA_DRIVER": str(LIBRARY), "MINIDYNAMO_EMULATOR_DELAY": "random:7:300"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("program", RACES)
def test_programs_that_race(program, tmp_path):
    kinds = set(ast.literal_eval(run_program(RACES[program], tmp_path)))
    # What is read before it was written has nothing in it yet.
    reads_early = program in ("a result used too early", "a copy that nobody waited for")
    assert kinds == {"race of streams"} or (reads_early and kinds == {"uninitialised read"})


@pytest.mark.parametrize("program", IN_ORDER.values(), ids=IN_ORDER)
def test_programs_in_order(program, tmp_path):
    assert run_program(program, tmp_path) == "[]\n"
