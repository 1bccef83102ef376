"""Launches a graph that `python -m minidynamo ptx PROGRAM -o FOLDER` has written, with nothing but CUDA's driver.

    python launch.py FOLDER GRAPH [FILE ...]

The files hold the memory of the graph's inputs, in order; that of its outputs is written to FOLDER/output_0.bin and so
on. Without a card, MINIDYNAMO_CUDA_DRIVER names the emulated driver's library. launch.c is the same in C.
"""

import ctypes
import json
import os
import pathlib
import sys
from ctypes import byref, c_uint64, c_void_p

SIZES = {"bool": 1, "float16": 2, "bfloat16": 2, "complex64": 8, "complex128": 16}
SIZES |= {f"{kind}{8 * size}": size for kind in ("int", "uint", "float") for size in (1, 2, 4, 8)}


class Driver:
    """Functions of CUDA's driver by their names without `cu`; integers are passed as 64 bits."""

    def __init__(self):
        self.library = ctypes.CDLL(os.environ.get("MINIDYNAMO_CUDA_DRIVER", "libcuda.so.1"))

    def __getattr__(self, name):
        def call(*arguments):
            wide = [c_uint64(a) if isinstance(a, int) else a for a in arguments]
            code = self.library["cu" + name](*wide)
            if code:
                text = ctypes.c_char_p()
                self.library.cuGetErrorName(code, byref(text))
                sys.exit(f"launch.py: cu{name}: {(text.value or b'unknown code').decode()}")

        return call


def allocate(cuda, size, content=None):
    address = c_uint64()
    cuda.MemAlloc_v2(byref(address), max(size, 1))
    if content is not None:
        if len(content) != size:
            sys.exit(f"launch.py: a file of {len(content)} bytes for a memory of {size}")
        cuda.MemcpyHtoD_v2(address, content, size)
    return address.value, size


def fetch(cuda, memory):
    address, size = memory
    buffer = ctypes.create_string_buffer(size)
    cuda.MemcpyDtoH_v2(buffer, address, size)
    return buffer.raw


def allocate_all(cuda, folder, graph, files):
    """{name of a memory: (address, bytes)}"""
    memories, files = {}, iter(files)
    for kind in ("inputs", "outputs", "constants"):
        for tensor in graph[kind]:
            if tensor.get("bytes") is None:
                continue  # a number, or it lies in another tensor's memory
            content = None
            if kind == "inputs":
                content = pathlib.Path(next(files)).read_bytes()
            elif kind == "constants":
                content = (folder / tensor["file"]).read_bytes()
            memories[tensor["memory"]] = allocate(cuda, tensor["bytes"], content)
    for number, temporary in enumerate(graph["temporaries"]):
        memories[f"temporary {number}"] = allocate(cuda, temporary["bytes"])
    return memories


def word(cuda, argument, memories):
    """Every argument is one 64-bit word."""
    if argument["kind"] == "status":
        return memories["status"][0]
    if argument["kind"] not in ("buffer", "value"):
        return argument["value"] & (1 << 64) - 1
    size = SIZES[argument["dtype"]]
    address = memories[argument["of"]][0] + argument["shift"] * size
    return address if argument["kind"] == "buffer" else int.from_bytes(fetch(cuda, (address, size)), "little")


def launch(cuda, folder, kernel, memories):
    if kernel["file"] is None:
        sys.exit(f"launch.py: {kernel['name']}: {kernel['why']}")
    if 0 in kernel["grid"]:
        return
    module, function = c_void_p(), c_void_p()
    cuda.ModuleLoadData(byref(module), (folder / kernel["file"]).read_bytes())
    cuda.ModuleGetFunction(byref(function), module, kernel["entry"].encode())
    if kernel["shared_bytes"] > 48 * 1024:
        cuda.FuncSetAttribute(function, 8, kernel["shared_bytes"])
    given = [word(cuda, argument, memories) for argument in kernel["arguments"]]
    words = (c_uint64 * len(given))(*given)  # one behind the other: some kernels take them as one structure
    first = ctypes.addressof(words)
    pointers = (c_void_p * len(given))(*range(first, first + 8 * len(given), 8))
    shape = (*kernel["grid"], *kernel["block"])
    cuda.LaunchKernel(function, *shape, kernel["shared_bytes"], None, pointers, None)
    cuda.CtxSynchronize()
    if any(fetch(cuda, memories["status"])):
        sys.exit(f"launch.py: {kernel['name']}: an operation failed: a division by zero, or a position outside")


def main(folder, number, *files):
    folder = pathlib.Path(folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    graph = manifest["graphs"][int(number)]
    cuda, context = Driver(), c_void_p()
    cuda.Init(0)
    cuda.DevicePrimaryCtxRetain(byref(context), 0)
    cuda.CtxSetCurrent(context)
    memories = allocate_all(cuda, folder, graph, files)
    memories["status"] = allocate(cuda, 64, b"\0" * 64)
    for kernel in graph["kernels"]:
        launch(cuda, folder, manifest["kernels"][kernel], memories)
    for number, tensor in enumerate(graph["outputs"]):
        content = fetch(cuda, memories[tensor["memory"]])
        (folder / f"output_{number}.bin").write_bytes(content)
        print(f"output_{number}.bin: {len(content)} bytes")


if __name__ == "__main__":
    main(*sys.argv[1:])
