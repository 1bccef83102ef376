"""What the compiler did. The names are the reference's: programs read `torch._dynamo.utils.counters`."""

import collections

from .._absent import absent_names as _absent_names

# counters["frames"]["total"], counters["stats"]["unique_graphs"], counters["graph_break"][message], ...
# Cleared by the user (counters.clear()), not by reset().
counters = collections.defaultdict(collections.Counter)

CompilationMetrics = collections.namedtuple(
    "CompilationMetrics",
    "compile_id co_name co_filename co_firstlineno cache_size start_time entire_frame_compile_time_s recompile_reason",
)
CompilationMetrics.__doc__ = """\
One compilation that made code. `compile_id`: "<frame>/<entry>" as in logs; `cache_size`: how many compilations of this
function there were before; `start_time`: seconds since the epoch; `recompile_reason`: None for the first one."""

RecompileReason = collections.namedtuple("RecompileReason", "guard kind source place old new hint stack")
RecompileReason.__doc__ = """\
Why the newest code of a function did not fit. `guard`: its first failing guard, as the log shows it; `kind`: what kind
of guard that is; `source`: what it looks at, as in the log of guards; `place`: what has changed there ("x.size(0)");
`old`, `new`: its values; `hint`: a way out; `stack`: the callers as (file, line, function), outermost first."""

_KEPT = 64
_metrics = collections.deque(maxlen=_KEPT)


def get_compilation_metrics():
    """The last 64 compilations, oldest first, as CompilationMetrics. Compilations of a function after its first have a
    `recompile_reason`: what had changed, its old and new value, who called, and what to do about it.
    """
    return list(_metrics)


def clear_compilation_metrics():
    """Forgets them; reset() does not."""
    _metrics.clear()


def _load(name, missing):
    """What needs the compiler, which is built on this module."""
    import importlib

    if name == "maybe_enable_compiled_autograd":
        return importlib.import_module(f"{__package__}.compiled_autograd").maybe_enable_compiled_autograd
    return missing


__getattr__ = _absent_names(__name__, _load)
