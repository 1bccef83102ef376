"""The emulated CUDA driver by ctypes, in child processes: what it reads of the environment it reads once."""

import ctypes
import functools
import json
import os
import pathlib
import shutil
import tempfile
import traceback

import minidynamo

# What the library reads of the environment, by the names that tests here give to in_child and emulated.
VARIABLES = {
    "devices": "MINIDYNAMO_EMULATOR_DEVICES",
    "version": "MINIDYNAMO_EMULATOR_VERSION",
    "without": "MINIDYNAMO_EMULATOR_WITHOUT",
    "fault": "MINIDYNAMO_EMULATOR_FAULT",
    "delay": "MINIDYNAMO_EMULATOR_DELAY",
    "checks": "MINIDYNAMO_EMULATOR_CHECKS",
    "threads": "MINIDYNAMO_EMULATOR_THREADS",
    "limit": "MINIDYNAMO_EMULATOR_LIMIT",
    "cache": "MINIDYNAMO_EMULATOR_CACHE",
}
LIBRARY = pathlib.Path(minidynamo.__file__).with_name("libminidynamo_cuda_emulated.so")


@functools.cache
def copy_of_library():
    """A file of our own: this process may have loaded, and begun to use, the original."""
    folder = tempfile.TemporaryDirectory()
    copy_of_library.folder = folder  # lives as long as the process
    return shutil.copy(LIBRARY, folder.name)


class CudaError(Exception):
    def __init__(self, code, function):
        super().__init__(f"{function}: {code}")
        self.code = code


class Driver:
    """Calls functions of the driver; arguments are as ctypes takes them, integers are 64 bits wide."""

    def __init__(self, path=None):
        self.library = ctypes.CDLL(str(path or copy_of_library()))

    def code(self, function, *arguments):
        wide = [ctypes.c_uint64(a) if isinstance(a, int) else a for a in arguments]
        return getattr(self.library, function)(*wide)

    def __call__(self, function, *arguments):
        if code := self.code(function, *arguments):
            raise CudaError(code, function)

    def get(self, function, *arguments, kind=ctypes.c_uint64, last=False):
        """What the function puts where its first (or last) argument points."""
        to = kind()
        self(function, *((*arguments, ctypes.byref(to)) if last else (ctypes.byref(to), *arguments)))
        return to.value

    def address(self, function):
        """As dlsym gives it: 0 where the driver has no such function (which ctypes itself does not survive)."""
        dlsym = ctypes.CDLL(None).dlsym
        dlsym.restype = ctypes.c_void_p
        return dlsym(ctypes.c_void_p(self.library._handle), function.encode()) or 0

    def _text(self, function):
        size = self.library[function](None, ctypes.c_size_t(0))
        buffer = ctypes.create_string_buffer(size + 4096)
        self.library[function](buffer, ctypes.c_size_t(size + 4096))
        return json.loads(buffer.value)

    def findings(self):
        return self._text("mdEmulatorFindings")

    def launches(self):
        return self._text("mdEmulatorLaunches")

    def start(self, device=0):
        """cuInit and the device's primary context, current."""
        self("cuInit", 0)
        context = self.get("cuDevicePrimaryCtxRetain", device)
        self("cuCtxSetCurrent", context)
        return context

    def allocate(self, size):
        return self.get("cuMemAlloc_v2", size)

    def pinned(self, size):
        """An array of bytes in pinned memory."""
        address = self.get("cuMemHostAlloc", size, 0)
        return (ctypes.c_uint8 * size).from_address(address)

    def stream(self, flags=1):
        return self.get("cuStreamCreate", flags)

    def event(self, flags=0):
        return self.get("cuEventCreate", flags)

    def upload(self, data):
        address = self.allocate(len(data))
        self("cuMemcpyHtoD_v2", address, data, len(data))
        return address

    def download(self, address, size):
        buffer = ctypes.create_string_buffer(size)
        self("cuMemcpyDtoH_v2", buffer, address, size)
        return buffer.raw

    def function(self, ptx, name):
        module = self.get("cuModuleLoadData", ptx.encode())
        return self.get("cuModuleGetFunction", module, name.encode())

    def launch(self, function, *words, grid=(1, 1, 1), block=(32, 1, 1), shared=0, stream=0, code=False):
        """Parameters are 64-bit words."""
        values = [ctypes.c_uint64(w) for w in words]
        pointers = (ctypes.c_void_p * max(1, len(values)))(*(ctypes.addressof(v) for v in values))
        arguments = (function, *grid, *block, shared, stream, pointers, None)
        return (self.code if code else self)("cuLaunchKernel", *arguments)


def in_child(environment, function, *arguments):
    """Runs function(*arguments) in a fork of this process with the environment; what it raises fails the test."""
    path = copy_of_library()
    assert path
    read, write = os.pipe()
    child = os.fork()
    if not child:
        os.close(read)
        text = "the child ended"
        try:
            os.environ.update({VARIABLES[name]: value for name, value in environment.items()})
            function(*arguments)
            text = ""
        except BaseException:
            text = traceback.format_exc()
        finally:
            os.write(write, text[-60000:].encode())
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:
        text = pipe.read().decode()
    _, status = os.waitpid(child, 0)
    if status:
        raise AssertionError(f"the child ended with status {status}: {text}")
    if text:
        raise AssertionError(text)


def emulated(**environment):
    """Decorates a test that takes a driver: it runs in a child process with the emulator's settings."""

    def decorate(test):
        def run():
            in_child(environment, lambda: test(Driver()))

        run.__name__, run.__doc__ = test.__name__, test.__doc__
        return run

    return decorate
