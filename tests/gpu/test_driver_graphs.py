"""The emulated driver: streams recorded into graphs, which are launched again and again."""

import ctypes

import pytest

from gpu.emulated_driver import emulated
from gpu.test_driver_streams import HOST_FUNCTION, Gate, notes

pytestmark = pytest.mark.version_free

UNSUPPORTED, INVALIDATED, MERGE, UNMATCHED, UNJOINED, ISOLATION, IMPLICIT, CAPTURED_EVENT, WRONG_THREAD = range(
    900, 909
)


def begin(driver, stream, mode=0):
    driver("cuStreamBeginCapture_v2", stream, mode)


def end(driver, stream):
    return driver.get("cuStreamEndCapture", stream, last=True)


def end_code(driver, stream):
    graph = ctypes.c_uint64(1)
    code = driver.code("cuStreamEndCapture", stream, ctypes.byref(graph))
    assert bool(graph.value) == (code == 0)
    return code


def status(driver, stream):
    return driver.get("cuStreamIsCapturing", stream, kind=ctypes.c_int, last=True)


def nodes(driver, graph):
    count = driver.get("cuGraphGetNodes", graph, None, kind=ctypes.c_size_t, last=True)
    found = (ctypes.c_uint64 * count)()
    driver("cuGraphGetNodes", graph, found, ctypes.byref(ctypes.c_size_t(count)))
    return [driver.get("cuGraphNodeGetType", node, kind=ctypes.c_int, last=True) for node in found]


@emulated(devices="sm_90:64M")
def test_nothing_is_done_until_the_launch(driver):
    driver.start()
    stream, address = driver.stream(), driver.upload(b"\0" * 8)
    begin(driver, stream)
    assert status(driver, stream) == 1
    driver("cuMemsetD8Async", address, 3, 4, stream)
    driver("cuMemcpyDtoDAsync_v2", address + 4, address, 4, stream)
    graph = end(driver, stream)
    assert status(driver, stream) == 0
    assert driver.download(address, 8) == b"\0" * 8
    assert nodes(driver, graph) == [2, 1]
    ready = driver.get("cuGraphInstantiateWithFlags", graph, 0)
    driver("cuGraphDestroy", graph)
    for _ in range(3):
        driver("cuMemsetD8_v2", address, 0, 8)
        driver("cuGraphLaunch", ready, 0)
        driver("cuStreamSynchronize", 0)
        assert driver.download(address, 8) == b"\3" * 8
    driver("cuGraphExecDestroy", ready)
    assert driver.code("cuGraphLaunch", ready, 0) == 400
    assert driver.code("cuGraphDestroy", graph) == 400


@emulated(devices="sm_90:64M", delay="random:3:50")
def test_branches_are_forked_and_joined_by_events(driver):
    driver.start()
    a, b, c = driver.stream(), driver.stream(), driver.stream()
    fork, join, other = driver.event(2), driver.event(2), driver.event(2)
    order = []
    begin(driver, a)
    kept = [notes(driver, a, order, "first")]
    driver("cuEventRecord", fork, a)
    for stream, event, what in [(b, join, "left"), (c, other, "right")]:
        driver("cuStreamWaitEvent", stream, fork, 0)
        assert status(driver, stream) == 1
        kept.append(notes(driver, stream, order, what))
        driver("cuEventRecord", event, stream)
        driver("cuStreamWaitEvent", a, event, 0)
    kept.append(notes(driver, a, order, "last"))
    graph = end(driver, a)
    assert [status(driver, stream) for stream in (a, b, c)] == [0, 0, 0]
    assert nodes(driver, graph) == [3, 3, 3, 3]
    ready = driver.get("cuGraphInstantiateWithFlags", graph, 0)
    seen = set()
    for _ in range(20):
        order.clear()
        driver("cuGraphLaunch", ready, a)
        driver("cuStreamSynchronize", a)
        assert order[0] == "first" and order[3] == "last" and sorted(order[1:3]) == ["left", "right"]
        seen.add(tuple(order))
    assert len(seen) == 2 and kept  # what no edge orders comes in both orders


@emulated(devices="sm_90:64M")
def test_captures_that_go_wrong(driver):
    driver.start()
    a, b, event, outside = driver.stream(), driver.stream(), driver.event(2), driver.event(2)
    address = driver.upload(b"12345678")
    pageable = ctypes.create_string_buffer(8)
    driver("cuEventRecord", outside, b)

    # What ends a capture: the call, its code, and what the end of the capture says.
    cases = [
        (("cuStreamSynchronize", a), UNSUPPORTED),
        (("cuStreamQuery", a), UNSUPPORTED),
        (("cuCtxSynchronize",), UNSUPPORTED),
        (("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 8), UNSUPPORTED),
        (("cuMemFree_v2", address), UNSUPPORTED),
        (("cuEventQuery", outside), UNSUPPORTED),
        (("cuMemcpyDtoH_v2", pageable, address, 8), UNSUPPORTED),
        (("cuMemcpyHtoDAsync_v2", address, pageable, 8, a), UNSUPPORTED),
        (("cuMemAllocAsync", ctypes.byref(ctypes.c_uint64()), 8, a), UNSUPPORTED),
        (("cuStreamWaitEvent", a, outside, 0), ISOLATION),
    ]
    for (function, *arguments), code in cases:
        begin(driver, a)
        driver("cuMemsetD8Async", address, 0, 8, a)
        assert driver.code(function, *arguments) == code, function
        assert status(driver, a) == 2
        assert driver.code("cuMemsetD8Async", address, 0, 8, a) == INVALIDATED
        assert end_code(driver, a) == INVALIDATED
        assert status(driver, a) == 0
    # An event recorded in a capture cannot be asked.
    begin(driver, a, 2)
    driver("cuEventRecord", event, a)
    assert driver.code("cuEventQuery", event) == CAPTURED_EVENT
    assert end_code(driver, a) == INVALIDATED
    assert driver.download(address, 8) == b"12345678"
    assert driver.code("cuStreamEndCapture", a, ctypes.byref(ctypes.c_uint64())) == 401
    assert driver.code("cuStreamBeginCapture_v2", 0, 0) == UNSUPPORTED


@emulated(devices="sm_90:64M")
def test_streams_have_to_be_joined_again(driver):
    driver.start()
    a, b, event = driver.stream(), driver.stream(), driver.event(2)
    address = driver.allocate(8)
    begin(driver, a)
    driver("cuEventRecord", event, a)
    driver("cuStreamWaitEvent", b, event, 0)
    driver("cuMemsetD8Async", address, 0, 8, b)
    assert end_code(driver, b) == UNMATCHED
    assert end_code(driver, a) == INVALIDATED
    begin(driver, a)
    driver("cuEventRecord", event, a)
    driver("cuStreamWaitEvent", b, event, 0)
    driver("cuMemsetD8Async", address, 0, 8, b)
    assert end_code(driver, a) == UNJOINED
    assert status(driver, b) == 0
    # A stream that goes takes the capture that began there along.
    gone = driver.stream()
    begin(driver, gone)
    driver("cuStreamDestroy_v2", gone)
    driver.allocate(8)
    # Two captures stay two.
    begin(driver, a)
    begin(driver, b)
    driver("cuEventRecord", event, a)
    assert driver.code("cuStreamWaitEvent", b, event, 0) == MERGE
    assert [end_code(driver, stream) for stream in (a, b)] == [INVALIDATED] * 2


@emulated(devices="sm_90:64M")
def test_the_default_stream_spoils_captures_of_blocking_ones(driver):
    driver.start()
    blocking, free, address = driver.stream(0), driver.stream(1), driver.allocate(8)
    begin(driver, free)
    driver("cuMemsetD8Async", address, 0, 8, 0)
    assert end_code(driver, free) == 0
    begin(driver, blocking)
    assert driver.code("cuMemsetD8Async", address, 0, 8, 0) == IMPLICIT
    assert end_code(driver, blocking) == INVALIDATED


@emulated(devices="sm_90:64M")
def test_modes_of_captures(driver):
    driver.start()
    stream = driver.stream()
    for mode, code in [(0, UNSUPPORTED), (1, UNSUPPORTED), (2, 0)]:
        begin(driver, stream, mode)
        assert driver.code("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 8) == code
        assert end_code(driver, stream) == (INVALIDATED if code else 0)
    begin(driver, stream, 0)
    mode = ctypes.c_int(2)
    driver("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    assert mode.value == 0
    driver.allocate(8)
    driver("cuThreadExchangeStreamCaptureMode", ctypes.byref(mode))
    assert end_code(driver, stream) == 0


@emulated(devices="sm_90:64M")
def test_info_on_captures(driver):
    driver.start()
    stream, address = driver.stream(), driver.allocate(8)
    found = [ctypes.c_int(), ctypes.c_uint64(), ctypes.c_uint64(), ctypes.c_void_p(), ctypes.c_size_t()]
    ask = ("cuStreamGetCaptureInfo_v2", stream, *map(ctypes.byref, found))
    driver(*ask)
    assert found[0].value == 0
    begin(driver, stream)
    driver("cuMemsetD8Async", address, 0, 8, stream)
    driver(*ask)
    assert found[0].value == 1 and found[1].value > 0 and found[4].value == 1
    assert end(driver, stream) == found[2].value


@emulated(devices="sm_90:64M")
def test_graphs_are_updated_if_they_are_alike(driver):
    driver.start()
    stream, address = driver.stream(), driver.upload(b"\0" * 4)

    def recorded(*calls):
        begin(driver, stream)
        for function, *arguments in calls:
            driver(function, *arguments, stream)
        return end(driver, stream)

    ready = driver.get("cuGraphInstantiateWithFlags", recorded(("cuMemsetD8Async", address, 1, 4)), 0)
    info = (ctypes.c_uint64 * 3)()
    driver("cuGraphExecUpdate_v2", ready, recorded(("cuMemsetD8Async", address, 2, 4)), info)
    driver("cuGraphLaunch", ready, stream)
    driver("cuStreamSynchronize", stream)
    assert driver.download(address, 4) == b"\2" * 4
    for calls in [
        [("cuMemsetD8Async", address, 2, 4)] * 2,
        [("cuMemcpyDtoDAsync_v2", address, address + 2, 2)],
    ]:
        assert driver.code("cuGraphExecUpdate_v2", ready, recorded(*calls), info) == 910
        assert info[0] & 0xFFFFFFFF in (2, 3)


@emulated(devices="sm_90:64M")
def test_launches_of_one_graph_do_not_overlap(driver):
    driver.start()
    a, b, running, most = driver.stream(), driver.stream(), [], []

    def step(_):
        running.append(1)
        most.append(len(running))
        running.pop()

    called = HOST_FUNCTION(step)
    begin(driver, a)
    driver("cuLaunchHostFunc", a, called, None)
    ready = driver.get("cuGraphInstantiateWithFlags", end(driver, a), 0)
    gate = Gate(driver, a)
    driver("cuGraphLaunch", ready, a)
    driver("cuGraphLaunch", ready, b)
    assert driver.code("cuStreamQuery", b) == 600
    gate.open()
    driver("cuCtxSynchronize")
    assert most == [1, 1]


class KernelNode(ctypes.Structure):
    _fields_ = [
        ("function", ctypes.c_void_p), ("grid", ctypes.c_uint * 3), ("block", ctypes.c_uint * 3),
        ("shared", ctypes.c_uint), ("parameters", ctypes.c_void_p), ("extra", ctypes.c_void_p),
        ("kernel", ctypes.c_void_p), ("context", ctypes.c_void_p),
    ]  # fmt: skip


class Side(ctypes.Structure):
    _fields_ = [
        ("x", ctypes.c_size_t), ("y", ctypes.c_size_t), ("z", ctypes.c_size_t), ("level", ctypes.c_size_t),
        ("memory", ctypes.c_int), ("host", ctypes.c_void_p), ("device", ctypes.c_uint64),
        ("array", ctypes.c_void_p), ("reserved", ctypes.c_void_p), ("pitch", ctypes.c_size_t),
        ("height", ctypes.c_size_t),
    ]  # fmt: skip


class CopyNode(ctypes.Structure):
    _fields_ = [
        ("source", Side), ("target", Side), ("width", ctypes.c_size_t), ("height", ctypes.c_size_t),
        ("depth", ctypes.c_size_t),
    ]  # fmt: skip


class FillNode(ctypes.Structure):
    _fields_ = [
        ("to", ctypes.c_uint64), ("pitch", ctypes.c_size_t), ("value", ctypes.c_uint), ("element", ctypes.c_uint),
        ("width", ctypes.c_size_t), ("height", ctypes.c_size_t),
    ]  # fmt: skip


def copy_node(target, source, width, memory=2, height=1):
    return CopyNode(Side(memory=memory, device=source), Side(memory=memory, device=target), width, height, 1)


def kernel_node(function, *words):
    values = [ctypes.c_uint64(w) for w in words]
    pointers = (ctypes.c_void_p * len(values))(*(ctypes.addressof(v) for v in values))
    node = KernelNode(function, (1, 1, 1), (4, 1, 1), 0, ctypes.cast(pointers, ctypes.c_void_p))
    node.kept = values, pointers
    return node


ADD_ONE = """
.version 7.0
.target sm_70
.address_size 64
.visible .entry add_one(.param .u64 at)
{
    .reg .b32 %r<3>;
    .reg .b64 %d<4>;
    ld.param.u64 %d1, [at];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %d2, %r1, 4;
    add.s64 %d3, %d1, %d2;
    ld.global.u32 %r2, [%d3];
    add.u32 %r2, %r2, 1;
    st.global.u32 [%d3], %r2;
    ret;
}
"""


@emulated(devices="sm_90:64M")
def test_graphs_are_put_together_and_changed(driver):
    driver.start()
    function = driver.function(ADD_ONE, "add_one")
    a, b, stream = driver.upload(b"\0" * 16), driver.upload(b"\5" * 16), driver.stream()
    graph = driver.get("cuGraphCreate", 0)

    def add(name, after, parameters, *more):
        before = (ctypes.c_uint64 * 1)(after) if after else None
        return driver.get(name, graph, before, int(bool(after)), ctypes.byref(parameters), *more)

    first = add("cuGraphAddMemsetNode", 0, FillNode(a, 16, 2, 1, 16, 1), None)
    second = add("cuGraphAddKernelNode_v2", first, kernel_node(function, a))
    third = add("cuGraphAddMemcpyNode", second, copy_node(b, a, 8), None)
    assert nodes(driver, graph) == [2, 0, 1]
    ready = driver.get("cuGraphInstantiateWithFlags", graph, 0)

    def run():
        driver("cuGraphLaunch", ready, stream)
        driver("cuStreamSynchronize", stream)
        return driver.download(a, 16), driver.download(b, 16)

    assert run() == (b"\3\2\2\2" * 4, b"\3\2\2\2" * 2 + b"\5" * 8)
    gate = Gate(driver, stream)
    driver("cuGraphLaunch", ready, stream)  # as it was when it was launched
    driver("cuGraphExecMemsetNodeSetParams", ready, first, ctypes.byref(FillNode(a, 16, 9, 1, 16, 1)), None)
    gate.open()
    driver("cuStreamSynchronize", stream)
    assert driver.download(a, 16) == b"\3\2\2\2" * 4
    driver("cuGraphExecKernelNodeSetParams_v2", ready, second, ctypes.byref(kernel_node(function, b)))
    driver("cuGraphExecMemcpyNodeSetParams", ready, third, ctypes.byref(copy_node(a, b, 4)), None)
    assert run() == (b"\4\2\2\2" + b"\x09" * 12, b"\4\2\2\2" * 2 + b"\6\5\5\5" * 2)
    # What is refused.
    refused = driver.code
    assert (
        refused("cuGraphExecMemsetNodeSetParams", ready, second, ctypes.byref(FillNode(a, 16, 9, 1, 16, 1)), None) == 1
    )
    assert (
        refused("cuGraphExecMemcpyNodeSetParams", ready, third, ctypes.byref(copy_node(a, b, 4, height=2)), None) == 801
    )
    assert refused("cuGraphExecMemcpyNodeSetParams", ready, third, ctypes.byref(copy_node(a, b, 400)), None) == 1
    assert refused("cuGraphExecKernelNodeSetParams_v2", ready, second, ctypes.byref(kernel_node(0, b))) == 1
    driver("cuGraphDestroy", graph)
    driver("cuGraphExecDestroy", ready)
    assert (
        refused("cuGraphExecMemsetNodeSetParams", ready, first, ctypes.byref(FillNode(a, 16, 9, 1, 16, 1)), None) == 400
    )
