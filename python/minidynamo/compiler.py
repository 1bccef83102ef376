"""minidynamo.compiler: names of torch.compiler."""

import functools

from . import _C, _events
from ._absent import absent_names as _absent_names
from ._dynamo.eval_frame import (
    compile,
    disable,
    get_default_backend,
    is_compiling,
    list_backends,
    reset,
    set_default_backend,
    wait_for_kernels,
)
from ._dynamo.marked_callables import (
    allow_in_graph,
    assume_constant_result,
    dont_skip_tracing,
    nested_compile_region,
    substitute_in_graph,
)
from ._dynamo.stance import set_stance

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "disable",
    "cudagraph_mark_step_begin",
    "export_telemetry",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "on_break",
    "on_compile",
    "on_recompile",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_stance",
    "substitute_in_graph",
    "wait_for_kernels",
    "wrap_numpy",
]

is_dynamo_compiling = is_compiling


def is_exporting():
    """True while traced, False in plain Python."""
    return False


def _subscribed(observer, kind):
    if not callable(observer):
        raise TypeError(f"an observer is called with each event, and {observer!r} cannot be called")
    return _events.subscribe(observer, [kind])


def on_break(observer):
    """Calls `observer(event)` at each graph break: code, type, context, explanation, hints, stack, outcome.

    Gives a handle: `remove()` ends it, as does the end of `with on_break(...):`. The observer runs in the thread that
    compiles; what it raises is logged. docs/events.md has the fields of all events. TypeError for what is not callable.
    """
    return _subscribed(observer, "break")


def on_compile(observer):
    """As on_break(), after each compilation of a function: function, file, line, seconds, entry, compile_id.

    What follows a graph break is compiled by itself and is a function of its own, "torch_dynamo_resume_in_f_at_7".
    """
    return _subscribed(observer, "compile")


def on_recompile(observer):
    """As on_break(), after a compilation for calls that no code fitted: guard, place, old, new, hint, stack.

    `place` is what has changed as the program spells it ("x.size(0)"), `old` and `new` its values, as texts.
    """
    return _subscribed(observer, "recompile")


def export_telemetry(tracer_provider=None):
    """Makes an OpenTelemetry span of each compilation; breaks and recompilations are events of the span that is open.

    Gives a handle as on_break() does. Raises ImportError where opentelemetry-api is not installed.
    """
    from ._events.telemetry import export

    return export(tracer_provider)


def cudagraph_mark_step_begin():
    """Says that a step of training or inference begins: nothing is done.

    Results of compiled functions lie in memory of their own, also where their launches are one CUDA graph, and no later
    call overwrites them.
    """


def wrap_numpy(fn):
    """A function of tensors that calls `fn`, a function of arrays, on their memory; arrays it gives become tensors.

    Compiled, the operations of NumPy are part of the graph. TypeError or RuntimeError for what NumPy gets no array of.
    """

    import numpy

    from .utils import _pytree

    @functools.wraps(fn)
    @dont_skip_tracing
    def of_tensors(*args, **kwargs):
        args, kwargs = _pytree.tree_map_only(_C.Tensor, _C.Tensor.numpy, (args, kwargs))
        return _pytree.tree_map_only(numpy.ndarray, _C.as_tensor, fn(*args, **kwargs))

    return of_tensors


def skip_guard_on_inbuilt_nn_modules_unsafe(guard_entries):
    """For the option `guard_filter_fn`: guards of modules of torch.nn are not checked."""
    return [not getattr(entry, "is_global", False) or "nn" not in str(entry.name) for entry in guard_entries]


def skip_guard_on_all_nn_modules_unsafe(guard_entries):
    """For the option `guard_filter_fn`: guards of modules are not checked."""
    return ["Module" not in entry.guard_type for entry in guard_entries]


def keep_tensor_guards_unsafe(guard_entries, keep_parameters=False):
    """For the option `guard_filter_fn`: guards of tensors alone are checked."""
    return ["TENSOR" in entry.guard_type for entry in guard_entries]


def skip_guard_on_globals_unsafe(guard_entries):
    """For the option `guard_filter_fn`: guards of globals are not checked."""
    return [not entry.is_global for entry in guard_entries]


def skip_all_guards_unsafe(guard_entries):
    """For the option `guard_filter_fn`: nothing is checked."""
    return [False for _ in guard_entries]


def set_enable_guard_collectives(enabled):
    """Holds the setting, gives the one before: with one process there is nobody to agree with."""
    global _guard_collectives
    before, _guard_collectives = _guard_collectives, bool(enabled)
    return before


_guard_collectives = False


def save_cache_artifacts():
    """None: kernels are kept by the folder of the kernel cache, which can be copied."""


def load_cache_artifacts(serialized_artifacts):
    """None, see save_cache_artifacts()."""


__getattr__ = _absent_names(__name__)
