"""What torch.cuda answers of memory where there are CUDA devices."""

import collections
import warnings

from .. import _C
from ._ordinals import index_of

_runtime = _C._cuda


def _facts(device):
    return _runtime.memory(index_of(device))


def empty_cache():
    _runtime.empty_cache()


def memory_allocated(device):
    return _facts(device)["allocated"]


def max_memory_allocated(device):
    return _facts(device)["most_allocated"]


def memory_reserved(device):
    return _facts(device)["reserved"]


def max_memory_reserved(device):
    return _facts(device)["most_reserved"]


def _renamed(old, new):
    warnings.warn(f"torch.cuda.{old} is torch.cuda.{new} now", FutureWarning, stacklevel=4)


def memory_cached(device):
    _renamed("memory_cached", "memory_reserved")
    return memory_reserved(device)


def max_memory_cached(device):
    _renamed("max_memory_cached", "max_memory_reserved")
    return max_memory_reserved(device)


_counted_before = collections.defaultdict(dict)  # by device: counts when they were reset


def memory_stats_as_nested_dict(device):
    index = index_of(device)
    facts, before = _runtime.memory(index), _counted_before[index]
    counts = {name: facts[name] - before.get(name, 0) for name in ("allocations", "frees", "retries", "out_of_memory")}
    live = facts["allocations"] - facts["frees"]

    def now(current, peak):
        return {"all": {"current": current, "peak": peak}}

    return {
        "allocation": {
            "all": {"current": live, "allocated": counts["allocations"], "freed": counts["frees"]},
        },
        "allocated_bytes": now(facts["allocated"], facts["most_allocated"]),
        "active_bytes": now(facts["allocated"], facts["most_allocated"]),
        "reserved_bytes": now(facts["reserved"], facts["most_reserved"]),
        "segment": {"all": {"current": facts["segments"]}},
        "num_alloc_retries": counts["retries"],
        "num_ooms": counts["out_of_memory"],
    }


def _flat(nested, prefix=""):
    for name, value in nested.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value


def memory_stats(device):
    return collections.OrderedDict(sorted(_flat(memory_stats_as_nested_dict(device))))


def host_memory_stats():
    """Empty: pinned memory is not counted."""
    return collections.OrderedDict()


def host_memory_stats_as_nested_dict():
    return {}


def memory_summary(device, abbreviated):
    index = index_of(device)
    facts = _runtime.memory(index)

    def size(name):
        return f"{facts[name] / 2**20:,.1f} MiB"

    rows = [
        ("held by tensors", size("allocated"), size("most_allocated")),
        ("reserved", size("reserved"), size("most_reserved")),
        ("in the cache", f"{(facts['reserved'] - facts['allocated']) / 2**20:,.1f} MiB", ""),
        ("free on the device", size("free"), ""),
        ("all of the device", size("total"), ""),
    ]
    if not abbreviated:
        rows += [
            ("blocks handed out", f"{facts['allocations']:,}", ""),
            ("blocks given back", f"{facts['frees']:,}", ""),
            ("tries after emptying the cache", f"{facts['retries']:,}", ""),
            ("out of memory", f"{facts['out_of_memory']:,}", ""),
        ]
    lines = [f"Memory of cuda:{index}", f"{'':32}{'now':>16}{'most':>16}"]
    return "\n".join(lines + [f"{name:32}{now:>16}{most:>16}" for name, now, most in rows])


def memory_snapshot(mempool_id, include_traces):
    raise RuntimeError("memory_snapshot(): the allocator keeps no history; memory_stats() tells what is counted")


def reset_peak_memory_stats(device):
    _runtime.reset_peaks(index_of(device))


def reset_accumulated_memory_stats(device):
    index = index_of(device)
    _counted_before[index] = _runtime.memory(index)


def reset_peak_host_memory_stats():
    """Nothing: pinned memory is not counted."""


def reset_accumulated_host_memory_stats():
    """Nothing: pinned memory is not counted."""


def reset_max_memory_allocated(device):
    reset_peak_memory_stats(device)


def reset_max_memory_cached(device):
    reset_peak_memory_stats(device)


def mem_get_info(device):
    facts = _facts(device)
    return facts["free"], facts["total"]


_fractions = {}


def set_per_process_memory_fraction(fraction, device):
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if not 0 <= fraction <= 1:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
    index = index_of(device)
    _runtime.set_memory_fraction(fraction, index)
    _fractions[index] = fraction


def get_per_process_memory_fraction(device):
    return _fractions.get(index_of(device), 1.0)


_handed_out = {}  # tensors by the address of their memory


def caching_allocator_alloc(size, device, stream):
    index = index_of(device)
    held = _C.empty(size, dtype=_C.uint8, device=f"cuda:{index}")
    if stream is not None:
        held.record_stream(stream)
    _handed_out[held.data_ptr()] = held
    return held.data_ptr()


def caching_allocator_enable(value):
    """Nothing: memory always comes from the cache."""


def list_gpu_processes(device):
    return "pynvml module not found, please install pynvml"
