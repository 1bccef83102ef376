"""The emulated driver: streams run beside the host; only events and the default stream's rules order them."""

import ctypes
import pathlib
import subprocess
import sys
import threading
import time

import pytest

from gpu.emulated_driver import LIBRARY, CudaError, copy_of_library, emulated

pytestmark = pytest.mark.version_free

INVALID_VALUE, INVALID_HANDLE, NOT_READY = 1, 400, 600
HOST_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class Gate:
    """Holds a stream up until it is opened."""

    def __init__(self, driver, stream, suffix=""):
        self.event = threading.Event()
        self.called = HOST_FUNCTION(lambda _: self.event.wait(20) and None)
        driver("cuLaunchHostFunc" + suffix, stream, self.called, None)

    def open(self):
        self.event.set()


def notes(driver, stream, order, what):
    call = HOST_FUNCTION(lambda _: order.append(what))
    driver("cuLaunchHostFunc", stream, call, None)
    return call


def is_done(driver, stream):
    code = driver.code("cuStreamQuery", stream)
    assert code in (0, NOT_READY)
    return code == 0


@emulated(devices="sm_90:64M")
def test_the_host_goes_on(driver):
    driver.start()
    stream = driver.stream()
    assert is_done(driver, stream)
    gate = Gate(driver, stream)
    address = driver.allocate(8)
    driver("cuMemsetD8Async", address, 5, 8, stream)
    assert not is_done(driver, stream)
    gate.open()
    driver("cuStreamSynchronize", stream)
    assert is_done(driver, stream)
    assert driver.download(address, 8) == b"\5" * 8


@emulated(devices="sm_90:64M")
def test_order_within_a_stream_and_none_between(driver):
    driver.start()
    a, b = driver.stream(), driver.stream()
    order, gate = [], Gate(driver, a)
    kept = [notes(driver, a, order, ("a", i)) for i in range(20)] + [
        notes(driver, b, order, ("b", i)) for i in range(20)
    ]
    driver("cuStreamSynchronize", b)
    assert order == [("b", i) for i in range(20)]
    gate.open()
    driver("cuCtxSynchronize")
    assert order[20:] == [("a", i) for i in range(20)] and kept


@emulated(devices="sm_90:64M")
def test_events_order_streams(driver):
    driver.start()
    a, b = driver.stream(), driver.stream()
    event, order, gate = driver.event(2), [], Gate(driver, a)
    assert driver.code("cuEventQuery", event) == 0  # never recorded
    kept = [notes(driver, a, order, "a")]
    driver("cuEventRecord", event, a)
    driver("cuStreamWaitEvent", b, event, 0)
    kept.append(notes(driver, b, order, "b"))
    assert driver.code("cuEventQuery", event) == NOT_READY
    assert not is_done(driver, b)
    gate.open()
    driver("cuStreamSynchronize", b)
    assert order == ["a", "b"] and kept
    driver("cuEventSynchronize", event)
    assert driver.code("cuEventQuery", event) == 0
    # What is recorded later is not waited for.
    gate = Gate(driver, a)
    driver("cuStreamWaitEvent", b, event, 0)
    driver("cuEventRecord", event, a)
    driver("cuStreamSynchronize", b)
    gate.open()
    driver("cuEventDestroy_v2", event)
    assert driver.code("cuEventQuery", event) == INVALID_HANDLE


@emulated(devices="sm_90:64M")
def test_the_default_stream_waits_for_blocking_ones_and_they_for_it(driver):
    driver.start()
    blocking, free = driver.stream(0), driver.stream(1)
    order, gate = [], Gate(driver, blocking)
    kept = [notes(driver, 0, order, "default"), notes(driver, free, order, "free")]
    driver("cuStreamSynchronize", free)
    assert order == ["free"]
    gate.open()
    driver("cuStreamSynchronize", 0)
    assert order == ["free", "default"]
    gate = Gate(driver, 0)
    kept += [notes(driver, blocking, order, "blocking"), notes(driver, free, order, "free")]
    driver("cuStreamSynchronize", free)
    assert order[2:] == ["free"] and not is_done(driver, blocking)
    gate.open()
    driver("cuStreamSynchronize", blocking)
    assert order[2:] == ["free", "blocking"] and kept


@emulated(devices="sm_90:64M")
def test_per_thread_streams(driver):
    context = driver.start()
    gate = Gate(driver, 0, "_ptsz")
    assert driver.code("cuStreamQuery_ptsz", 0) == NOT_READY == driver.code("cuStreamQuery", 2)
    found = []

    def other():
        driver("cuCtxSetCurrent", context)
        found.append(driver.code("cuStreamQuery_ptsz", 0))

    thread = threading.Thread(target=other)
    thread.start()
    thread.join()
    assert found == [0]
    gate.open()
    driver("cuStreamSynchronize_ptsz", 0)


@emulated(devices="sm_90:64M")
def test_copies_of_pinned_and_other_memory(driver):
    driver.start()
    stream, address = driver.stream(), driver.allocate(4)
    pinned, pageable = driver.pinned(4), ctypes.create_string_buffer(b"abcd", 4)
    pinned[:] = b"abcd"
    # Pinned memory is read when the copy's turn comes; other memory before the call returns.
    for source, seen in [(pinned, b"xbcd"), (pageable, b"abcd")]:
        gate = Gate(driver, stream)
        driver("cuMemcpyHtoDAsync_v2", address, source, 4, stream)
        source[0] = b"x"[0] if source is pinned else b"x"
        gate.open()
        driver("cuStreamSynchronize", stream)
        assert driver.download(address, 4) == seen
    # A copy into other memory is over when the call returns.
    driver("cuMemcpyDtoHAsync_v2", pageable, address, 4, stream)
    assert is_done(driver, stream)
    gate = Gate(driver, stream)
    driver("cuMemcpyDtoHAsync_v2", pinned, address, 4, stream)
    assert bytes(pinned) == b"xbcd"
    gate.open()
    driver("cuStreamSynchronize", stream)
    assert bytes(pinned) == b"abcd"


@emulated(devices="sm_90:64M")
def test_pinned_memory_freed_while_a_copy_runs(driver):
    driver.start()
    stream, address, pinned = driver.stream(), driver.allocate(4), driver.pinned(4)
    gate = Gate(driver, stream)
    driver("cuMemcpyHtoDAsync_v2", address, pinned, 4, stream)
    threading.Timer(0.05, gate.open).start()
    driver("cuMemFreeHost", pinned)
    (found,) = driver.findings()
    assert found["kind"] == "pinned memory freed" and "4 bytes" in found["text"]
    driver.library.mdEmulatorReset()
    pinned = driver.pinned(4)
    driver("cuMemcpyHtoDAsync_v2", address, pinned, 4, stream)
    driver("cuStreamSynchronize", stream)
    driver("cuMemFreeHost", pinned)
    assert driver.findings() == []


@emulated(devices="sm_90:64M")
def test_memory_freed_before_a_copy_uses_it(driver):
    driver.start()
    a, b, address = driver.stream(), driver.stream(), driver.get("cuMemAllocAsync", 64, 0)
    driver("cuStreamSynchronize", 0)
    gate = Gate(driver, a)
    driver("cuMemsetD8Async", address, 1, 64, a)
    driver("cuMemFreeAsync", address, b)
    driver("cuStreamSynchronize", b)
    gate.open()
    assert driver.code("cuStreamSynchronize", a) == 700
    assert driver.findings()[0]["kind"] == "use after free"
    # The context is broken for good; other calls than those on it still work.
    for function, *arguments in [("cuCtxSynchronize",), ("cuStreamQuery", b), ("cuMemFree_v2", 0)]:
        assert driver.code(function, *arguments) == 700
    assert driver.get("cuDeviceGetCount", kind=ctypes.c_int) == 1
    driver("cuDevicePrimaryCtxReset_v2", 0)
    driver("cuCtxSetCurrent", driver.get("cuDevicePrimaryCtxRetain", 0))
    driver("cuCtxSynchronize")


@emulated(devices="sm_90:64M")
def test_freeing_waits_for_what_is_queued(driver):
    driver.start()
    stream, address, order = driver.stream(), driver.allocate(64), []
    gate = Gate(driver, stream)
    driver("cuMemsetD8Async", address, 1, 64, stream)
    kept = notes(driver, stream, order, "done")
    threading.Timer(0.05, gate.open).start()
    driver("cuMemFree_v2", address)
    assert order == ["done"] and kept


@emulated(devices="sm_90:64M")
def test_times_between_events(driver):
    driver.start()
    stream, begin, end, untimed = driver.stream(), driver.event(), driver.event(), driver.event(2)
    milliseconds = ctypes.c_float()
    to = ctypes.byref(milliseconds)
    assert driver.code("cuEventElapsedTime", to, begin, end) == INVALID_HANDLE  # never recorded
    driver("cuEventRecord", begin, stream)
    sleep = HOST_FUNCTION(lambda _: time.sleep(0.02))
    driver("cuLaunchHostFunc", stream, sleep, None)
    driver("cuEventRecord", end, stream)
    driver("cuEventRecord", untimed, stream)
    assert driver.code("cuEventElapsedTime", to, begin, end) in (0, NOT_READY)
    driver("cuEventSynchronize", end)
    driver("cuEventElapsedTime", to, begin, end)
    assert 20 <= milliseconds.value < 5000
    assert driver.code("cuEventElapsedTime", to, begin, untimed) == INVALID_HANDLE


@emulated(devices="sm_90:64M")
def test_functions_on_the_host_may_not_call_the_driver(driver):
    driver.start()
    codes = []
    called = HOST_FUNCTION(lambda _: codes.append(driver.code("cuMemFree_v2", 0)))
    driver("cuLaunchHostFunc", 0, called, None)
    driver("cuStreamSynchronize", 0)
    assert codes == [800]
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
    seen = []
    called = callback(lambda stream, status, data: seen.append((stream, status, data)))
    stream = driver.stream()
    driver("cuStreamAddCallback", stream, called, 77, 0)
    driver("cuStreamSynchronize", stream)
    assert seen == [(stream, 0, 77)]


@emulated(devices="sm_90:64M")
def test_streams_are_checked(driver):
    driver.start()
    stream = driver.get("cuStreamCreateWithPriority", 1, ctypes.c_int(-99))
    assert driver.get("cuStreamGetPriority", stream, kind=ctypes.c_int, last=True) == -5
    assert driver.get("cuStreamGetFlags", stream, kind=ctypes.c_uint, last=True) == 1
    assert driver.code("cuStreamCreate", ctypes.byref(ctypes.c_uint64()), 2) == INVALID_VALUE
    driver("cuStreamDestroy_v2", stream)
    for function in ("cuStreamSynchronize", "cuStreamQuery", "cuStreamDestroy_v2"):
        assert driver.code(function, stream) == INVALID_HANDLE
    assert driver.code("cuStreamSynchronize", 123456) == INVALID_HANDLE
    with pytest.raises(CudaError, match="400"):
        driver("cuEventRecord", 5, 0)


@emulated(devices="sm_90:64M")
def test_a_destroyed_stream_does_what_it_was_asked_for(driver):
    driver.start()
    stream, order = driver.stream(), []
    gate = Gate(driver, stream)
    kept = notes(driver, stream, order, "done")
    driver("cuStreamDestroy_v2", stream)
    gate.open()
    driver("cuCtxSynchronize")
    assert order == ["done"] and kept


@emulated(devices="sm_90:64M,sm_90:64M")
def test_streams_of_other_devices(driver):
    contexts = [driver.start(ordinal) for ordinal in (0, 1)]
    stream = driver.stream()
    event = driver.event()
    driver("cuCtxSetCurrent", contexts[0])
    address, own = driver.allocate(8), driver.stream()
    assert driver.code("cuMemsetD8Async", address, 0, 8, stream) == INVALID_HANDLE
    assert driver.code("cuEventRecord", event, own) == INVALID_HANDLE
    gate = Gate(driver, own)
    mine = driver.event()
    driver("cuEventRecord", mine, own)
    driver("cuStreamWaitEvent", stream, mine, 0)
    assert not is_done(driver, stream)
    gate.open()
    driver("cuStreamSynchronize", stream)


def missing_wait(driver):
    """Does a second stream read what the first has not written yet?"""
    driver.start()
    a, b = driver.stream(), driver.stream()
    address, to = driver.upload(b"\0"), driver.pinned(1)
    early = 0
    for i in range(1, 60):
        driver("cuMemsetD8Async", address, i, 1, a)
        driver("cuMemcpyDtoHAsync_v2", to, address, 1, b)
        driver("cuCtxSynchronize")
        early += to[0] != i
    return early


@emulated(devices="sm_90:64M", delay="random:7:300", checks="fast")
def test_delays_show_what_is_not_ordered(driver):
    assert missing_wait(driver) > 5


@emulated(devices="sm_90:64M", delay="random:7:300")
def test_delays_change_nothing_that_is_ordered(driver):
    driver.start()
    a, b, event = driver.stream(), driver.stream(), driver.event(2)
    address, to = driver.upload(b"\0"), driver.pinned(1)
    for i in range(1, 30):
        driver("cuMemsetD8Async", address, i, 1, a)
        driver("cuEventRecord", event, a)
        driver("cuStreamWaitEvent", b, event, 0)
        driver("cuMemcpyDtoHAsync_v2", to, address, 1, b)
        driver("cuStreamSynchronize", b)
        assert to[0] == i


@emulated(devices="sm_90:256M")
def test_many_threads(driver):
    context = driver.start()
    wrong = []

    def work(seed):
        driver("cuCtxSetCurrent", context)
        stream, pinned = driver.stream(), driver.pinned(256)
        for i in range(100):
            address = driver.get("cuMemAllocAsync", 256, stream)
            driver("cuMemsetD8Async", address, (seed + i) % 256, 256, stream)
            driver("cuMemcpyDtoHAsync_v2", pinned, address, 256, stream)
            driver("cuMemFreeAsync", address, stream)
            driver("cuStreamSynchronize", stream)
            if bytes(pinned) != bytes([(seed + i) % 256]) * 256:
                wrong.append((seed, i))

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


ENDING = """
import ctypes, os, sys
sys.path[:0] = {paths!r}
from gpu.emulated_driver import Driver
driver, libc = Driver({library!r}), ctypes.CDLL(None)
@ctypes.CFUNCTYPE(None)
def after():
    os.write(1, b"%d" % driver.code("cuCtxSynchronize"))
libc.on_exit(after, None)  # handlers run last registered first: this one after the driver's own
driver.start()
stream, address = driver.stream(), driver.allocate(1 << 20)
for _ in range(300):
    driver("cuMemsetD8Async", address, 1, 1 << 20, stream)
libc.exit(0)
"""


def test_a_process_ends_while_its_streams_work():
    """What ends after the driver may still ask it, and is told that it has ended."""
    paths = [str(LIBRARY.parents[1]), str(pathlib.Path(__file__).resolve().parents[1])]
    text = ENDING.format(paths=paths, library=str(copy_of_library()))
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "4", "")
