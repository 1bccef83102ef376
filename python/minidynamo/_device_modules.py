"""What torch.cuda, xpu, mtia, mps and accelerator answer where there are no such devices: one table for all of them.

A row: the modules it is for (c, x, m, p, a), how the function is called, what it answers. `KIND` is the name of the
module. Each module gets functions of its own. Where there are CUDA devices, those of torch.cuda and torch.accelerator
call functions of the same names in `cuda/_core.py` and its neighbours instead.
"""

import collections
import warnings
from importlib import import_module

from . import _C
from ._no_device import DeviceOf, DeviceSwitch, StreamSwitch, device_index, is_present, no_such_object, refuse

_LETTERS = {"cuda": "c", "xpu": "x", "mtia": "m", "mps": "p", "accelerator": "a"}
_TABLE = {
    "core": """
cxmpa | is_available()                                     | False
cxmpa | device_count()                                     | 0
cxm   | is_initialized()                                   | False
cx    | is_bf16_supported(including_emulation=True)        | False
m     | is_bf16_supported()                                | True
cx    | is_tf32_supported()                                | False
cx    | get_arch_list()                                    | []
cx    | get_gencode_flags()                                | ""
cxm   | init()                                             | not_compiled()
cx    | set_device(device)                                 | no_other_device(device)
m     | set_device(device, /)                              | refused("set_device")
cxm   | synchronize(device=None)                           | refused("synchronize")
p     | synchronize()                                      | refused("synchronize")
a     | synchronize(device=None, /)                        | refused("synchronize")
cxm   | current_device()                                   | refused("current_device")
cx    | get_device_name(device=None)                       | refused("get_device_name")
cxm   | get_device_capability(device=None)                 | refused("get_device_capability")
a     | get_device_capability(device=None, /)              | refused("get_device_capability")
cxm   | get_device_properties(device=None)                 | refused("get_device_properties")
cx    | can_device_access_peer(device, peer_device)        | refused("can_device_access_peer")
cxm   | current_stream(device=None)                        | refused("current_stream")
a     | current_stream(device=None, /)                     | refused("current_stream")
cm    | default_stream(device=None)                        | refused("default_stream")
cxm   | set_stream(stream)                                 | None
a     | set_stream(stream)                                 | refused("set_stream")
cxm   | stream(stream)                                     | StreamContext(stream)
cx    | get_stream_from_external(data_ptr, device=None)    | refused("get_stream_from_external")
c     | ipc_collect()                                      | refused("ipc_collect")
c     | current_blas_handle()                              | refused("current_blas_handle")
c     | current_solver_handle()                            | refused("current_solver_handle")
c     | cudart()                                           | refused("cudart")
c     | get_sync_debug_mode()                              | refused("get_sync_debug_mode")
c     | set_sync_debug_mode(debug_mode)                    | refused("set_sync_debug_mode")
cx    | is_current_stream_capturing()                      | no_graphs("is_current_stream_capturing")
cxm   | graph_pool_handle()                                | no_graphs("graph_pool_handle")
cx    | utilization(device=None)                           | refused("utilization")
cx    | temperature(device=None)                           | refused("temperature")
cx    | power_draw(device=None)                            | refused("power_draw")
cx    | clock_rate(device=None)                            | refused("clock_rate")
cx    | memory_usage(device=None)                          | refused("memory_usage")
cx    | device_memory_used(device=None)                    | refused("device_memory_used")
p     | compile_shader(source)                             | refused("compile_shader")
a     | current_accelerator(check_available=False)         | None
a     | current_device_index()                             | refused("current_device_index")
a     | set_device_index(device, /)                        | refused("set_device_index")
a     | current_device_idx()                               | renamed("current_device_idx", "current_device_index")
a     | set_device_idx(device, /)                          | renamed("set_device_idx", "set_device_index")
""",
    "random": """
cxmp  | manual_seed(seed)                                  | a_number(seed)
cxm   | manual_seed_all(seed)                              | a_number(seed)
cxm   | seed()                                             | None
p     | seed()                                             | refused("seed")
cxm   | seed_all()                                         | None
cxm   | initial_seed()                                     | not_compiled()
cxm   | get_rng_state(device=KIND)                         | not_compiled()
p     | get_rng_state(device=KIND)                         | refused("get_rng_state")
cxm   | get_rng_state_all()                                | []
cx    | set_rng_state(new_state, device=KIND)              | None
mp    | set_rng_state(new_state, device=KIND)              | refused("set_rng_state")
cxm   | set_rng_state_all(new_states)                      | no_states(new_states)
""",
    "memory": """
cx    | empty_cache()                                      | None
mpa   | empty_cache()                                      | refused("empty_cache")
a     | empty_host_cache()                                 | refused("empty_host_cache")
cxm   | memory_allocated(device=None)                      | 0
cxm   | max_memory_allocated(device=None)                  | 0
cx    | memory_reserved(device=None)                       | 0
cx    | max_memory_reserved(device=None)                   | 0
c     | memory_cached(device=None)                         | renamed("memory_cached", "memory_reserved", 0)
c     | max_memory_cached(device=None)                     | renamed("max_memory_cached", "max_memory_reserved", 0)
cx    | memory_stats(device=None)                          | collections.OrderedDict()
m     | memory_stats(device=None)                          | {}
cx    | memory_stats_as_nested_dict(device=None)           | {}
c     | host_memory_stats()                                | collections.OrderedDict()
c     | host_memory_stats_as_nested_dict()                 | {}
c     | memory_summary(device=None, abbreviated=False)     | refused("memory_summary")
c     | memory_snapshot(mempool_id=None, include_traces=True) | refused("memory_snapshot")
x     | memory_snapshot(mempool_id=None)                   | []
m     | snapshot()                                         | refused("snapshot")
cx    | reset_peak_memory_stats(device=None)               | refused("reset_peak_memory_stats")
m     | reset_peak_memory_stats(device=None)               | None
cx    | reset_accumulated_memory_stats(device=None)        | refused("reset_accumulated_memory_stats")
c     | reset_peak_host_memory_stats()                     | refused("reset_peak_host_memory_stats")
c     | reset_accumulated_host_memory_stats()              | refused("reset_accumulated_host_memory_stats")
c     | reset_max_memory_allocated(device=None)            | refused("reset_max_memory_allocated")
c     | reset_max_memory_cached(device=None)               | refused("reset_max_memory_cached")
cx    | mem_get_info(device=None)                          | refused("mem_get_info")
cx    | set_per_process_memory_fraction(fraction, device=None) | refused("set_per_process_memory_fraction")
cx    | get_per_process_memory_fraction(device=None)       | refused("get_per_process_memory_fraction")
c     | caching_allocator_alloc(size, device=None, stream=None) | refused("caching_allocator_alloc")
c     | caching_allocator_enable(value=True)               | None
c     | list_gpu_processes(device=None)                    | refused("list_gpu_processes")
p     | set_per_process_memory_fraction(fraction)          | refused("set_per_process_memory_fraction")
p     | current_allocated_memory()                         | refused("current_allocated_memory")
p     | driver_allocated_memory()                          | refused("driver_allocated_memory")
p     | recommended_max_memory()                           | refused("recommended_max_memory")
a     | memory_allocated(device_index=None, /)             | refused("memory_allocated")
a     | max_memory_allocated(device_index=None, /)         | refused("max_memory_allocated")
a     | memory_reserved(device_index=None, /)              | refused("memory_reserved")
a     | max_memory_reserved(device_index=None, /)          | refused("max_memory_reserved")
a     | memory_stats(device_index=None, /)                 | refused("memory_stats")
a     | get_memory_info(device_index=None, /)              | refused("get_memory_info")
a     | reset_peak_memory_stats(device_index=None, /)      | refused("reset_peak_memory_stats")
a     | reset_accumulated_memory_stats(device_index=None, /) | refused("reset_accumulated_memory_stats")
""",
}


class _Answers:
    """What rows call: of one module."""

    def __init__(self, kind):
        self.kind = kind

    def not_compiled(self):
        refuse(self.kind.upper())

    def refused(self, name):
        if self.kind in ("cuda", "xpu"):
            refuse(self.kind.upper())
        if self.kind == "accelerator":
            raise RuntimeError(
                f"torch.accelerator.{name}(): there is no accelerator; ask torch.accelerator.is_available() first"
            )
        label = self.kind.upper()
        raise RuntimeError(f"torch.{self.kind}.{name}() needs the {label} backend, which minidynamo does not have")

    def no_graphs(self, name):
        raise RuntimeError(f"torch.{self.kind}.{name}(): there is no device whose work could be captured")

    def renamed(self, old, new, answer=None):
        warnings.warn(f"torch.{self.kind}.{old} is torch.{self.kind}.{new} now", FutureWarning, stacklevel=4)
        return self.refused(new) if answer is None else answer

    def a_number(self, seed):
        int(seed)

    def no_states(self, states):
        if count := len(list(states)):
            raise ValueError(f"set_rng_state_all: {count} states for 0 {self.kind.upper()} devices")

    def no_other_device(self, device):
        if device_index(device, self.kind) >= 0:
            refuse(self.kind.upper())


def present(section, name):
    """The function that answers where there are."""
    return getattr(import_module(f".cuda._{section}", __package__), name)


_C._mark_callable(present, "constant")  # traces do not follow how it is found
_WITH_DEVICES = ("cuda", "accelerator")


def _passed_on(call):
    """The arguments of a call as its parameters are named."""
    names = (part.partition("=")[0].strip() for part in call.partition("(")[2].rstrip(")").split(","))
    return ", ".join(name for name in names if name and name != "/")


def _said(answer):
    """The docstring of a function by its answer."""
    if answer.startswith(("refused", "not_compiled", "no_graphs")):
        return "Raises: there is no device."
    names = {"None": "Nothing.", "a_number(seed)": "Nothing but that `seed` has to be a number."}
    names["no_states(new_states)"] = "Nothing for no states; ValueError for more than there are devices."
    names["no_other_device(device)"] = "Nothing for negative indices; AssertionError for others, ValueError for kinds."
    return names.get(answer, f"{answer}." if "(" not in answer else "As its answer says: there is no device.")


def fill(namespace, kind, *sections):
    """Puts the functions of these sections into a module."""
    answers = _Answers(kind)
    known = {name: getattr(answers, name) for name in dir(answers) if not name.startswith("_")}
    known |= {"KIND": kind, "collections": collections, "__name__": namespace["__name__"]}
    known |= {"is_present": is_present, "present": present}
    known["StreamContext"] = namespace.get("StreamContext")
    for section in sections:
        for row in _TABLE[section].strip().splitlines():
            letters, call, answer = (part.strip() for part in row.split(" | "))
            if _LETTERS[kind] in letters:
                name, about, asks = call.partition("(")[0], _said(answer), ""
                if kind in _WITH_DEVICES:
                    home = "accelerator" if kind == "accelerator" else section
                    asks = f"    if is_present():\n        return present({home!r}, {name!r})({_passed_on(call)})\n"
                    about = "As torch has it where there are CUDA devices. Where there are none: " + about
                exec(f"def {call}:\n    {about!r}\n{asks}    return {answer}\n", known)  # the table's own text
                namespace[name] = known[name]


def classes(namespace, kind):
    """Puts `device`, `device_of` and StreamContext of a kind of devices into a module."""
    label, home = kind.upper(), {"__module__": namespace["__name__"]}
    about = (
        f"`with` it another {label} device would be the current one; RuntimeError on entering, but for negative ones."
    )
    namespace["device"] = type("device", (DeviceSwitch,), {**home, "kind": kind, "__doc__": about})
    about = "`with` it the device of a tensor would be the current one; nothing for tensors on the CPU."
    namespace["device_of"] = type("device_of", (DeviceOf,), {**home, "kind": kind, "__doc__": about})
    about = "`with` it work would go to another stream; None changes nothing."
    namespace["StreamContext"] = type("StreamContext", (StreamSwitch,), {**home, "__doc__": about})


def absent_objects(namespace, kind, *names):
    """Puts classes into a module of which no object can be made; a name "External(Stream)" has its base behind it."""
    for name in names:
        name, _, base = name.rstrip(")").partition("(")
        about = f"Of {kind.upper()} devices; RuntimeError, as there are none."
        namespace[name] = type(
            name,
            (namespace[base] if base else no_such_object,),
            {"__module__": namespace["__name__"], "__doc__": about},
        )
