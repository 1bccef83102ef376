"""The emulated driver: modules, functions, launches, and what goes wrong in kernels."""

import ctypes
import struct

import pytest

from gpu.emulated_driver import emulated
from gpu.small_kernels import small_kernels

pytestmark = pytest.mark.version_free

INVALID_VALUE, INVALID_HANDLE, NOT_FOUND, ILLEGAL_ADDRESS = 1, 400, 500, 700


def load_code(driver, text):
    return driver.code("cuModuleLoadData", ctypes.byref(ctypes.c_uint64()), text.encode())


def words(driver, address, count):
    return list(struct.unpack(f"{count}i", driver.download(address, 4 * count)))


@emulated(devices="sm_90:64M")
def test_kernels_compute(driver):
    driver.start()
    function = driver.function(small_kernels(), "affine")
    address = driver.upload(struct.pack("1000i", *range(1000)))
    driver.launch(function, address, 1000, 3, grid=(8, 1, 1), block=(128, 1, 1))
    assert words(driver, address, 1000) == [3 * i + 1 for i in range(1000)]
    launched = driver.launches()["affine"]
    assert launched["launches"] == 1 and launched["grid"] == [8, 1, 1] and launched["block"] == [128, 1, 1]
    assert launched["global_load_bytes"] == launched["global_store_bytes"] == 4000
    assert driver.findings() == []
    driver.library.mdEmulatorReset()
    assert driver.launches() == {}


def memory_sectors(driver):
    """Read and written by two launches over 4,000 bytes, beginning with an empty cache."""
    driver.start()
    function = driver.function(small_kernels(), "affine")
    address = driver.upload(struct.pack("1000i", *range(1000)))
    for _ in range(2):
        driver.launch(function, address, 1000, 3, grid=(8, 1, 1), block=(128, 1, 1))
    driver("cuCtxSynchronize")
    launched = driver.launches()["affine"]
    driver.library.mdEmulatorReset()
    driver.launch(function, address, 1000, 3, grid=(8, 1, 1), block=(128, 1, 1))
    driver("cuCtxSynchronize")
    assert driver.launches()["affine"]["memory_load_sectors"] == 125  # the cache was emptied
    return launched["memory_load_sectors"], launched["memory_store_sectors"]


@emulated(devices="sm_90:64M", threads="1")
def test_a_cache_keeps_what_fits(driver):
    assert memory_sectors(driver) == (125, 125)


@emulated(devices="sm_90:64M", threads="1", cache="512")
def test_a_small_cache_keeps_nothing(driver):
    assert memory_sectors(driver) == (250, 250)


@emulated(devices="sm_90:64M")
def test_parameters_in_one_piece(driver):
    driver.start()
    function = driver.function(small_kernels(), "affine")
    address = driver.upload(struct.pack("4i", *range(4)))
    piece = struct.pack("QQI", address, 4, 10)
    size = ctypes.c_size_t(len(piece))
    buffer = ctypes.create_string_buffer(piece)
    extra = (ctypes.c_void_p * 5)(1, ctypes.addressof(buffer), 2, ctypes.addressof(size), 0)
    driver("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, 0, None, extra)
    assert words(driver, address, 4) == [1, 11, 21, 31]
    size.value -= 8
    assert driver.code("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, 0, None, extra) == INVALID_VALUE
    assert driver.code("cuLaunchKernel", function, 1, 1, 1, 32, 1, 1, 0, 0, None, None) == INVALID_VALUE
    config = struct.pack("7I4xQQI4x", 1, 1, 1, 32, 1, 1, 0, 0, 0, 0)
    pointers = (ctypes.c_void_p * 3)()
    values = [ctypes.c_uint64(address), ctypes.c_uint64(4), ctypes.c_uint32(2)]
    pointers[:] = [ctypes.addressof(value) for value in values]
    driver("cuLaunchKernelEx", config, function, pointers, None)
    assert words(driver, address, 4) == [3, 23, 43, 63]


@emulated(devices="sm_90:64M")
def test_what_is_told_of_functions(driver):
    driver.start()
    module = driver.get("cuModuleLoadData", small_kernels().encode())
    function = driver.get("cuModuleGetFunction", module, b"affine")
    assert driver.get("cuModuleGetFunction", module, b"affine") == function
    assert driver.code("cuModuleGetFunction", ctypes.byref(ctypes.c_uint64()), module, b"nothing") == NOT_FOUND

    def attribute(which, of=function):
        return driver.get("cuFuncGetAttribute", which, of, kind=ctypes.c_int)

    assert [attribute(which) for which in (0, 1, 5, 6, 8)] == [1024, 0, 63, 90, 49152]
    assert attribute(0, driver.get("cuModuleGetFunction", module, b"bounded")) == 64
    offset, size = ctypes.c_size_t(), ctypes.c_size_t()
    driver("cuFuncGetParamInfo", function, 2, ctypes.byref(offset), ctypes.byref(size))
    assert (offset.value, size.value) == (16, 4)
    assert driver.code("cuFuncGetParamInfo", function, 3, ctypes.byref(offset), None) == INVALID_VALUE
    occupancy = "cuOccupancyMaxActiveBlocksPerMultiprocessor"
    for threads, shared, blocks in [(1024, 0, 2), (128, 0, 16), (32, 0, 32), (128, 100 * 1024, 2)]:
        assert driver.get(occupancy, function, threads, shared, kind=ctypes.c_int) == blocks
    address, bytes_ = ctypes.c_uint64(), ctypes.c_size_t()
    driver("cuModuleGetGlobal_v2", ctypes.byref(address), ctypes.byref(bytes_), module, b"answer")
    assert bytes_.value == 4 and words(driver, address.value, 1) == [42]
    assert driver.code("cuModuleGetGlobal_v2", None, None, module, b"question") == NOT_FOUND
    driver("cuModuleUnload", module)
    assert driver.code("cuModuleUnload", module) == INVALID_HANDLE
    assert driver.launch(function, 0, 0, 0, code=True) == INVALID_HANDLE


@emulated(devices="sm_90:64M")
def test_launches_are_checked(driver):
    driver.start()
    module = driver.get("cuModuleLoadData", small_kernels().encode())
    function = driver.get("cuModuleGetFunction", module, b"scratch")
    bounded = driver.get("cuModuleGetFunction", module, b"bounded")
    address = driver.allocate(4)
    for shape in [
        {"grid": (0, 1, 1)},
        {"grid": (1, 65536, 1)},
        {"grid": (1, 1, 65536)},
        {"grid": (1 << 31, 1, 1)},
        {"block": (0, 1, 1)},
        {"block": (1025, 1, 1)},
        {"block": (32, 33, 1)},
        {"block": (1, 1, 65)},
        {"shared": 49153},
    ]:
        assert driver.launch(function, address, code=True, **shape) == INVALID_VALUE, shape
    assert driver.launch(bounded, block=(65, 1, 1), code=True) == 701
    driver.launch(bounded, block=(64, 1, 1))
    assert driver.launch(12345, address, code=True) == INVALID_HANDLE
    assert driver.launch(function, address, stream=12345, code=True) == INVALID_HANDLE
    for size in (4, 49152):
        driver.launch(function, address, shared=size, block=(1, 1, 1))
        assert words(driver, address, 1) == [size]
    driver("cuFuncSetAttribute", function, 8, 200 * 1024)
    driver.launch(function, address, shared=200 * 1024, block=(1, 1, 1))
    assert words(driver, address, 1) == [200 * 1024]
    assert driver.code("cuFuncSetAttribute", function, 8, 228 * 1024) == INVALID_VALUE


@emulated(devices="sm_75:64M", version="11020")
def test_code_that_cannot_be_loaded(driver):
    driver.start()
    cases = [
        (small_kernels("7.2", "sm_75"), 0),
        (small_kernels("7.2", "sm_70"), 0),
        (small_kernels("7.2", "sm_80"), 209),
        (small_kernels("7.3", "sm_75"), 222),
        (small_kernels("8.0", "sm_90a"), 222),
        (small_kernels("7.2", "sm_90a"), 209),
        ("\x7fELF and more", 209),
        ("no code", 218),
        ("", 218),
        (small_kernels().replace("add.u32", "add.nothing"), 218),
    ]
    for text, code in cases:
        assert load_code(driver, text) == code, text[:60]
    driver("cuCtxSynchronize")


@emulated(devices="sm_90:64M")
def test_the_log_says_where_code_is_wrong(driver):
    driver.start()
    text = small_kernels().replace("ld.global.u32 %r5, [%rd6];", "ld.global.u32 %r5, [%what];")
    line = text[: text.index("%what")].count("\n") + 1
    log = ctypes.create_string_buffer(2000)
    options = (ctypes.c_int * 2)(5, 6)
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 2000)
    module = ctypes.c_uint64()
    assert driver.code("cuModuleLoadDataEx", ctypes.byref(module), text.encode(), 2, options, values) == 218
    assert str(line) in log.value.decode() and "%what" in log.value.decode()
    assert values[1] == len(log.value) + 1
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 10)
    assert driver.code("cuModuleLoadDataEx", ctypes.byref(module), text.encode(), 2, options, values) == 218
    assert len(log.value) == 9
    values = (ctypes.c_void_p * 2)(ctypes.addressof(log), 2000)
    driver("cuModuleLoadDataEx", ctypes.byref(module), small_kernels().encode(), 2, options, values)
    assert log.value == b""


@emulated(devices="sm_90:64M")
def test_an_illegal_address_breaks_the_context(driver):
    context = driver.start()
    function = driver.function(small_kernels(), "count")
    good = driver.upload(bytes(4))
    stream = driver.stream()
    driver.launch(function, good, block=(1, 1, 1), stream=stream)
    driver.launch(function, good + 4096, block=(1, 1, 1), stream=stream)
    driver.launch(function, good, block=(1, 1, 1), stream=stream)  # not done any more
    assert driver.code("cuStreamSynchronize", stream) == ILLEGAL_ADDRESS
    assert driver.launches()["count"]["launches"] == 2
    found = driver.findings()[0]
    assert found["code"] == ILLEGAL_ADDRESS and "count" in found["text"] and found["line"] > 0
    for function, *arguments in [
        ("cuCtxSynchronize",),
        ("cuMemAlloc_v2", ctypes.byref(ctypes.c_uint64()), 8),
        ("cuMemcpyDtoH_v2", ctypes.create_string_buffer(4), good, 4),
        ("cuStreamDestroy_v2", stream),
        ("cuModuleLoadData", ctypes.byref(ctypes.c_uint64()), small_kernels().encode()),
    ]:
        assert driver.code(function, *arguments) == ILLEGAL_ADDRESS
    other = driver.get("cuCtxCreate_v2", 0, 0)  # another context is not
    driver("cuCtxSynchronize")
    assert other != context


@pytest.mark.parametrize("wrong, kind", [("host", "host"), ("freed", "freed")])
def test_pointers_that_kernels_may_not_follow(wrong, kind):
    @emulated(devices="sm_90:64M")
    def follow(driver):
        driver.start()
        function = driver.function(small_kernels(), "count")
        if wrong == "host":
            memory = ctypes.create_string_buffer(64)
            address = ctypes.addressof(memory)
        else:
            address = driver.upload(bytes(64))
            driver("cuMemFree_v2", address)
        driver.launch(function, address, block=(1, 1, 1))
        assert driver.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
        assert len(driver.findings()) == 1

    follow()


@emulated(devices="sm_90:64M")
def test_kernels_reach_pinned_memory_at_its_address_there(driver):
    driver.start()
    function, block = driver.function(small_kernels(), "count"), driver.pinned(4)
    block[:] = bytes(4)
    address = driver.get("cuMemHostGetDevicePointer_v2", ctypes.addressof(block), 0)
    for _ in range(3):
        driver.launch(function, address, block=(1, 1, 1))
    driver("cuCtxSynchronize")
    assert bytes(block) == b"\3\0\0\0"


@emulated(devices="sm_90:64M")
def test_captured_launches(driver):
    driver.start()
    function, stream = driver.function(small_kernels(), "count"), driver.stream()
    address = driver.upload(bytes(4))
    driver("cuStreamBeginCapture_v2", stream, 0)
    for _ in range(3):
        driver.launch(function, address, block=(1, 1, 1), stream=stream)
    graph = driver.get("cuStreamEndCapture", stream, last=True)
    assert words(driver, address, 1) == [0]
    ready = driver.get("cuGraphInstantiateWithFlags", graph, 0)
    for launches in (1, 2):
        driver("cuGraphLaunch", ready, stream)
        driver("cuStreamSynchronize", stream)
        assert words(driver, address, 1) == [3 * launches]


@emulated(devices="sm_90:64M", fault="cuLaunchKernel:2=719")
def test_a_device_that_is_lost(driver):
    driver.start()
    function, address = driver.function(small_kernels(), "count"), driver.upload(bytes(4))
    driver.launch(function, address, block=(1, 1, 1))
    assert driver.launch(function, address, block=(1, 1, 1), code=True) == 719
    assert driver.code("cuCtxSynchronize") == 719


@emulated(devices="sm_90:64M,sm_90:64M")
def test_libraries_are_loaded_where_they_are_used(driver):
    driver.start(0)
    address = driver.upload(bytes(4))
    library = driver.get("cuLibraryLoadData", small_kernels().encode(), None, None, 0, None, None, 0)
    kernel = driver.get("cuLibraryGetKernel", library, b"count")
    assert driver.code("cuLibraryGetKernel", ctypes.byref(ctypes.c_uint64()), library, b"nothing") == NOT_FOUND
    driver.launch(driver.get("cuKernelGetFunction", kernel), address, block=(1, 1, 1))
    assert words(driver, address, 1) == [1]
    driver.start(1)
    there = driver.upload(bytes(4))
    driver.launch(driver.get("cuKernelGetFunction", kernel), there, block=(1, 1, 1))
    assert words(driver, there, 1) == [1]
    function = driver.get("cuModuleGetFunction", driver.get("cuLibraryGetModule", library), b"count")
    driver.launch(function, address, block=(1, 1, 1))  # memory of the other device
    assert driver.code("cuCtxSynchronize") == ILLEGAL_ADDRESS
    driver("cuLibraryUnload", library)
    assert driver.code("cuLibraryUnload", library) == INVALID_HANDLE


@emulated(devices="sm_90:64M", limit="100000", checks="fast", threads="1")
def test_kernels_without_an_end_are_ended(driver):
    driver.start()
    driver.launch(driver.function(small_kernels(), "endless"))
    assert driver.code("cuCtxSynchronize") == 702
    assert driver.findings()[0]["kind"] == "endless"
