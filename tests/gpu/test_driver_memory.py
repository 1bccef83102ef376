"""The emulated driver: starting it, devices, contexts, memory and its limits."""

import ctypes
import os

import pytest

from gpu.emulated_driver import CudaError, Driver, emulated

pytestmark = pytest.mark.version_free

INVALID_VALUE, OUT_OF_MEMORY, NOT_INITIALIZED, NO_DEVICE = 1, 2, 3, 100


def failing(code):
    return pytest.raises(CudaError, match=f": {code}$")


@emulated()
def test_nothing_before_init(driver):
    assert driver.get("cuDriverGetVersion", kind=ctypes.c_int) == 13000
    for function, arguments in [
        ("cuDeviceGetCount", (ctypes.byref(ctypes.c_int()),)),
        ("cuCtxSynchronize", ()),
        ("cuMemAlloc_v2", (ctypes.byref(ctypes.c_uint64()), 8)),
    ]:
        assert driver.code(function, *arguments) == NOT_INITIALIZED
    driver("cuInit", 0)
    driver("cuInit", 0)
    assert driver.code("cuInit", 1) == INVALID_VALUE
    assert driver.code("cuCtxSynchronize") == 201


@emulated(devices="sm_90:2G,sm_75:256M")
def test_devices_are_as_asked_for(driver):
    driver("cuInit", 0)
    assert driver.get("cuDeviceGetCount", kind=ctypes.c_int) == 2
    for ordinal, major, minor, memory in [(0, 9, 0, 2 << 30), (1, 7, 5, 256 << 20)]:
        assert driver.get("cuDeviceGet", ordinal, kind=ctypes.c_int) == ordinal
        assert driver.get("cuDeviceGetAttribute", 75, ordinal, kind=ctypes.c_int) == major
        assert driver.get("cuDeviceGetAttribute", 76, ordinal, kind=ctypes.c_int) == minor
        assert driver.get("cuDeviceTotalMem_v2", ordinal) == memory
        name = ctypes.create_string_buffer(64)
        driver("cuDeviceGetName", name, 64, ordinal)
        assert b"emulated" in name.value.lower() and f"sm_{major}{minor}".encode() in name.value
    uuids = [(ctypes.c_char * 16)() for _ in range(2)]
    for ordinal, uuid in enumerate(uuids):
        driver("cuDeviceGetUuid_v2", uuid, ordinal)
    assert uuids[0].raw != uuids[1].raw
    assert driver.code("cuDeviceGet", ctypes.byref(ctypes.c_int()), 2) == 101
    assert driver.code("cuDeviceGetAttribute", ctypes.byref(ctypes.c_int()), 9999, 0) == INVALID_VALUE
    for attribute, value in [(10, 32), (1, 1024), (8, 49152), (41, 1), (115, 1), (97, 232448)]:
        assert driver.get("cuDeviceGetAttribute", attribute, 0, kind=ctypes.c_int) == value


@emulated(devices="none")
def test_no_device(driver):
    assert driver.code("cuInit", 0) == NO_DEVICE
    assert driver.code("cuDeviceGetCount", ctypes.byref(ctypes.c_int())) == NOT_INITIALIZED


@emulated(devices="sm_what")
def test_settings_that_cannot_be_read(driver):
    assert driver.code("cuInit", 0) == 999
    assert "MINIDYNAMO_EMULATOR_DEVICES" in driver.findings()[0]["text"]


@emulated()
def test_names_of_errors(driver):
    name = ctypes.c_char_p()
    driver("cuGetErrorName", 700, ctypes.byref(name))
    assert name.value == b"CUDA_ERROR_ILLEGAL_ADDRESS"
    driver("cuGetErrorString", 2, ctypes.byref(name))
    assert name.value == b"out of memory"
    assert driver.code("cuGetErrorName", 12345, ctypes.byref(name)) == INVALID_VALUE
    assert name.value is None


@emulated(devices="sm_90:1G")
def test_contexts(driver):
    context = driver.start()
    assert driver.get("cuDevicePrimaryCtxRetain", 0) == context
    assert driver.get("cuCtxGetCurrent") == context
    other = driver.get("cuCtxCreate_v2", 0, 0)
    assert driver.get("cuCtxGetCurrent") == other != context
    address = driver.allocate(1 << 20)
    driver("cuCtxDestroy_v2", other)
    assert driver.get("cuCtxGetCurrent") == context
    assert driver.code("cuMemFree_v2", address) == INVALID_VALUE  # went with its context
    assert driver.code("cuCtxSetCurrent", other) == 201
    driver("cuCtxPushCurrent_v2", context)
    assert driver.get("cuCtxPopCurrent_v2") == context
    flags, active = ctypes.c_uint(), ctypes.c_int()
    driver("cuDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(active))
    assert active.value == 1
    driver("cuDevicePrimaryCtxRelease_v2", 0)
    driver("cuCtxSynchronize")
    driver("cuDevicePrimaryCtxRelease_v2", 0)
    assert driver.code("cuCtxSynchronize") == 709
    driver("cuDevicePrimaryCtxGetState", 0, ctypes.byref(flags), ctypes.byref(active))
    assert active.value == 0
    assert driver.code("cuDevicePrimaryCtxRelease_v2", 0) == 201


@emulated(devices="sm_90:64M")
def test_memory_has_a_limit(driver):
    driver.start()
    free, total = ctypes.c_size_t(), ctypes.c_size_t()
    first = driver.allocate(40 << 20)
    with failing(OUT_OF_MEMORY):
        driver.allocate(40 << 20)
    driver("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    assert (free.value, total.value) == (24 << 20, 64 << 20)
    driver.pinned(100 << 20)[0] = 1  # memory of the host does not count
    driver("cuMemGetInfo_v2", ctypes.byref(free), ctypes.byref(total))
    assert free.value == 24 << 20
    driver("cuMemFree_v2", first)
    driver.allocate(60 << 20)
    for size in (0, 1 << 62):
        assert driver.code("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), size) == (OUT_OF_MEMORY if size else 1)


@emulated(devices="sm_90:64M")
def test_frees_are_checked(driver):
    driver.start()
    address = driver.allocate(1000)
    begin, size = ctypes.c_uint64(), ctypes.c_size_t()
    driver("cuMemGetAddressRange_v2", ctypes.byref(begin), ctypes.byref(size), address + 999)
    assert (begin.value, size.value) == (address, 1000)
    assert driver.code("cuMemFree_v2", address + 8) == INVALID_VALUE
    driver("cuMemFree_v2", address)
    assert driver.code("cuMemFree_v2", address) == INVALID_VALUE
    assert driver.code("cuMemGetAddressRange_v2", None, None, address) == 500
    driver("cuMemFree_v2", 0)


@emulated(devices="sm_90:64M")
def test_copies_and_fills(driver):
    driver.start()
    data = bytes(range(256)) * 4
    a, b = driver.upload(data), driver.allocate(1024)
    driver("cuMemcpyDtoD_v2", b, a, 1024)
    assert driver.download(b, 1024) == data
    driver("cuMemsetD8_v2", b, 7, 10)
    driver("cuMemsetD16_v2", b + 16, 0x1234, 2)
    driver("cuMemsetD32_v2", b + 20, 0x01020304, 1)
    assert driver.download(b, 24) == b"\7" * 10 + data[10:16] + b"\x34\x12" * 2 + b"\4\3\2\1"
    for function, to in [("cuMemsetD16_v2", b + 1), ("cuMemsetD32_v2", b + 2)]:
        assert driver.code(function, to, 0, 1) == INVALID_VALUE
    host = ctypes.create_string_buffer(1024)
    driver("cuMemcpy", ctypes.addressof(host), a, 1024)
    assert host.raw == data
    driver("cuMemcpyHtoD_v2", a, host, 0)
    # What nobody has written is no zero, also where it was copied from such memory.
    fresh, copied = driver.allocate(8), driver.upload(b"12345678")
    driver("cuMemsetD8_v2", fresh + 2, 1, 2)
    assert driver.download(fresh, 8) == b"\xa5\xa5\1\1\xa5\xa5\xa5\xa5"
    driver("cuMemcpyDtoD_v2", copied, fresh, 4)
    assert driver.download(copied, 8) == b"\xa5\xa5\1\0015678"


@emulated(devices="sm_90:64M,sm_90:64M")
def test_wrong_pointers_are_refused(driver):
    driver.start()
    a = driver.allocate(64)
    host = ctypes.create_string_buffer(64)
    at = ctypes.addressof(host)
    refused = [
        ("cuMemcpyHtoD_v2", at, host, 64),  # to the host
        ("cuMemcpyHtoD_v2", a, a, 64),  # from the device
        ("cuMemcpyHtoD_v2", a, host, 65),  # beyond the end
        ("cuMemcpyHtoD_v2", a + 1, host, 64),
        ("cuMemcpyHtoD_v2", a, None, 64),
        ("cuMemcpyDtoH_v2", host, at, 64),
        ("cuMemcpyDtoH_v2", host, a + 4096, 64),
        ("cuMemcpyDtoD_v2", a, at, 64),
        ("cuMemsetD8_v2", at, 0, 64),
        ("cuMemsetD8_v2", a, 0, 65),
    ]
    for function, *arguments in refused:
        assert driver.code(function, *arguments) == INVALID_VALUE, (function, arguments)
    driver("cuMemFree_v2", a)
    assert driver.code("cuMemcpyHtoD_v2", a, host, 64) == INVALID_VALUE
    said = [found["text"].partition(": ")[2] for found in driver.findings()]
    assert said[:2] == ["no address of a device", "an address of a device, and not of the host"]
    assert said[2] == "the allocation ends before" and said[-1] == "the memory was freed"
    assert len(said) == len(refused) + 1
    driver("cuCtxSynchronize")  # nothing of this breaks the context


@emulated(devices="sm_90:64M,sm_75:64M")
def test_copies_between_devices(driver):
    contexts = [driver.start(ordinal) for ordinal in (0, 1)]
    b = driver.upload(b"\0" * 16)
    driver("cuCtxSetCurrent", contexts[0])
    a = driver.upload(b"0123456789abcdef")
    driver("cuMemcpyPeer", b, contexts[1], a, contexts[0], 16)
    driver("cuCtxSynchronize")
    assert driver.download(b, 16) == b"0123456789abcdef"
    assert driver.get("cuDeviceCanAccessPeer", 0, 1, kind=ctypes.c_int) == 0
    assert driver.code("cuMemcpyPeer", b, 12345, a, contexts[0], 16) == 201


@emulated(devices="sm_90:64M")
def test_pinned_memory(driver):
    driver.start()
    block = driver.pinned(4096)
    at = ctypes.addressof(block)
    mapped = driver.get("cuMemHostGetDevicePointer_v2", at + 8, 0)
    block[8] = 99
    assert driver.download(mapped, 1) == b"\x63"
    assert driver.get("cuPointerGetAttribute", 2, at, kind=ctypes.c_uint) == 1
    assert driver.get("cuPointerGetAttribute", 2, driver.allocate(8), kind=ctypes.c_uint) == 2
    assert driver.get("cuPointerGetAttribute", 9, at, kind=ctypes.c_int) == 0
    own = ctypes.create_string_buffer(4096)
    address = ctypes.addressof(own)
    assert driver.code("cuPointerGetAttribute", ctypes.byref(ctypes.c_uint()), 2, address) == INVALID_VALUE
    driver("cuMemHostRegister_v2", own, 4096, 0)
    assert driver.code("cuMemHostRegister_v2", address + 100, 8, 0) == 712
    assert driver.get("cuPointerGetAttribute", 2, address, kind=ctypes.c_uint) == 1
    assert driver.code("cuMemFreeHost", own) == INVALID_VALUE
    driver("cuMemHostUnregister", own)
    assert driver.code("cuMemHostUnregister", own) == 713
    driver("cuMemFreeHost", at)
    assert driver.code("cuMemFreeHost", at) == INVALID_VALUE


@emulated(devices="sm_90:64M")
def test_memory_in_the_order_of_streams(driver):
    driver.start()
    stream = driver.stream()
    address = driver.get("cuMemAllocAsync", 1 << 20, stream)
    pool = driver.get("cuDeviceGetDefaultMemPool", 0)
    assert driver.get("cuMemPoolGetAttribute", pool, 7, last=True) == 1 << 20
    threshold = ctypes.c_uint64(12345)
    driver("cuMemPoolSetAttribute", pool, 4, ctypes.byref(threshold))
    assert driver.get("cuMemPoolGetAttribute", pool, 4, last=True) == 12345
    driver("cuMemsetD8Async", address, 1, 1 << 20, stream)
    driver("cuMemFreeAsync", address, stream)
    assert driver.code("cuMemFreeAsync", address, stream) == INVALID_VALUE
    driver("cuStreamSynchronize", stream)
    assert driver.get("cuMemPoolGetAttribute", pool, 7, last=True) == 0
    assert driver.get("cuMemPoolGetAttribute", pool, 8, last=True) == 1 << 20
    driver("cuMemPoolTrimTo", pool, 0)


@emulated(version="11000", without="cuMemcpyPeer,cuStreamQuery")
def test_an_old_driver_lacks_functions(driver):
    assert driver.get("cuDriverGetVersion", kind=ctypes.c_int) == 11000
    for name in ("cuMemAllocAsync", "cuGetProcAddress", "cuMemcpyPeer", "cuStreamQuery", "cuStreamQuery_ptsz"):
        assert not driver.address(name), name
    assert driver.address("cuMemAlloc_v2")


@emulated()
def test_functions_by_name_and_version(driver):
    def looked_up(name, version=12000, flags=0):
        found, status = ctypes.c_void_p(), ctypes.c_int()
        to = (ctypes.byref(found), version, flags, ctypes.byref(status))
        code = driver.code("cuGetProcAddress_v2", name.encode(), *to)
        assert (code == 0) == bool(found.value) == (status.value == 0)
        return found.value

    exported = driver.address
    assert looked_up("cuMemAlloc") == exported("cuMemAlloc_v2")
    assert looked_up("cuMemcpyHtoDAsync", flags=2) == exported("cuMemcpyHtoDAsync_v2_ptsz")
    assert looked_up("cuInit") == exported("cuInit")
    assert looked_up("cuNothing") is None
    assert looked_up("mdEmulatorReset") is None
    assert looked_up("cuInit", 99000) is None


@emulated(fault="cuMemAlloc_v2:2=2;cuStreamCreate=1;cuEventCreate:2+=400")
def test_faults_on_demand(driver):
    driver.start()
    driver.allocate(8)
    with failing(OUT_OF_MEMORY):
        driver.allocate(8)
    driver.allocate(8)
    for _ in range(2):
        with failing(INVALID_VALUE):
            driver.stream()
    driver.event()
    for _ in range(2):
        with failing(400):
            driver.event()
    assert driver.library.mdEmulatorSetFaults(b"cuCtxSynchronize:1=719") == 1
    driver.library.mdEmulatorCalls.restype = ctypes.c_uint64
    assert driver.library.mdEmulatorSetFaults(b"nonsense") == 0
    assert driver.code("cuCtxSynchronize") == 719  # the device is lost, and stays so
    assert driver.code("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 8) == 719
    assert driver.library.mdEmulatorCalls(b"cuMemAlloc_v2") == 1


@emulated()
def test_a_forked_child_cannot_go_on(driver):
    driver.start()
    address = driver.upload(b"12345678")
    child = os.fork()
    if not child:
        codes = [driver.code("cuInit", 0), driver.code("cuCtxSynchronize"), driver.code("cuMemFree_v2", address)]
        codes.append(driver.code("cuDriverGetVersion", ctypes.byref(ctypes.c_int())))
        os._exit(0 if codes == [3, 3, 3, 0] else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert driver.download(address, 8) == b"12345678"


def test_two_libraries_are_apart():
    """A process that has loaded the library already can still load the tests' copy of it anew."""

    @emulated(devices="sm_75:64M")
    def again(driver):
        driver("cuInit", 0)
        assert driver.get("cuDeviceGetAttribute", 75, 0, kind=ctypes.c_int) == 7
        assert Driver().library._handle == driver.library._handle

    again()
