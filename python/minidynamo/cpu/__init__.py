"""torch.cpu: the CPU with the functions other devices have. A call has done its work when it returns."""

import functools
import types
from importlib import import_module

from .._absent import absent_names as _absent_names
from .._absent import submodules as _submodules


def is_available():
    """True."""
    return True


def is_initialized():
    """True."""
    return True


def device_count():
    """1: all cores are one device."""
    return 1


def current_device():
    """The text 'cpu'."""
    return "cpu"


def set_device(device):
    """Nothing: there is one device."""


def synchronize(device=None):
    """Nothing: calls return when their work is done."""


class Stream:
    """Work in order. There is one order, that of the calls."""

    def __init__(self, priority=-1):
        pass

    def wait_stream(self, stream):
        """Nothing: what was called before is done."""

    def record_event(self):
        """Nothing: what was called before is done."""

    def wait_event(self, event):
        """Nothing: what was called before is done."""


class Event:
    """A point in a stream, passed as soon as it is made."""

    def query(self):
        """True: what was called before is done."""
        return True

    def record(self, stream=None):
        """Nothing: there is one order of calls."""

    def synchronize(self):
        """Nothing: what was called before is done."""

    def wait(self, stream=None):
        """Nothing: what was called before is done."""


_stream = Stream()


def current_stream(device=None):
    """The stream of the last `stream` block that is open; one of its own outside of all."""
    return _stream


class StreamContext:
    """`with` it another stream is the current one."""

    def __init__(self, stream):
        self.stream = stream

    def __enter__(self):
        global _stream
        self._before = _stream
        if self.stream is not None:
            _stream = self.stream

    def __exit__(self, *error):
        global _stream
        _stream = self._before


def stream(stream):
    """A StreamContext."""
    return StreamContext(stream)


# As torch names instructions, and as Linux does where it differs.
_INSTRUCTIONS = """
sse sse2 sse3=pni ssse3 sse4_1 sse4_2 sse4a avx avx2 fma3=fma fma4 f16c bmi=bmi1 bmi2 popcnt lzcnt=abm aes sha=sha_ni
clflush clflushopt clwb avx_vnni avx_vnni_int8 avx_vnni_int16 avx_ne_convert amx_bf16 amx_int8 amx_tile amx_fp16
avx512_f=avx512f avx512_cd=avx512cd avx512_dq=avx512dq avx512_bw=avx512bw avx512_vl=avx512vl avx512_ifma=avx512ifma
avx512_vbmi=avx512vbmi avx512_vbmi2 avx512_bf16 avx512_bitalg avx512_vpopcntdq avx512_vnni avx512_fp16
avx512_vp2intersect avx512_4fmaps avx512_4vnniw avx10_1 avx10_2
"""


@functools.cache
def get_capabilities():
    """What the system reports of the CPU, read-only: `architecture`, `num_logical_cores` and, on Linux with an x86
    CPU, its name and whether it has each of the instruction sets."""
    import os
    import platform

    found = {"architecture": platform.machine(), "num_logical_cores": os.cpu_count()}
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            rows = [line.partition(":") for line in file.read().split("\n\n")[0].splitlines()]
    except OSError:
        rows = []
    facts = {name.strip(): value.strip() for name, _, value in rows}
    if "model name" in facts:
        found["cpu_name"] = facts["model name"]
    if "flags" in facts:
        has = set(facts["flags"].split())
        for entry in _INSTRUCTIONS.split():
            name, _, theirs = entry.partition("=")
            found[name] = (theirs or name) in has
    return types.MappingProxyType(found)


def _load(name, missing):
    return import_module(f"{__name__}.{name}") if name in _submodules(__name__) else missing


__getattr__ = _absent_names(__name__, _load)
