"""compile() and its companions."""

import functools
import importlib
import os
import sys
import types
import warnings

from .. import _C
from .._absent import absent_names as _absent_names
from . import config, report
from .callables import Disabling, Options, compile_callable, loaded_module_class, module_makers
from .callback import callback_handler
from .exc import InvalidBackend
from .recording import recording

_PACKAGE = __package__.partition(".")[0]
_OWN_BACKENDS = {"llvm": "llvm", "inductor": "llvm", "cudagraphs": "llvm", "eager": "eager", "blocks": "blocks"}
_DEBUG_BACKENDS = ("aot_eager", "eager", "eager_debug", "eager_noexcept")
# When machine code is made (CompileMode in ir/compile/backend.h), and whether launches on a GPU become one graph.
_REPLAYS = 4
_MODES = {
    "default": 1,
    "reduce-overhead": 0 + _REPLAYS,
    "max-autotune-no-cudagraphs": 2,
    "max-autotune": 2 + _REPLAYS,
}
_registered = {}
_tags = {}  # of registered ones


def register_backend(compiler_fn=None, name=None, tags=()):
    """Makes a callable `(GraphModule, example_inputs) -> callable` known by name; also a decorator.

    `name` is that of the function unless given. AssertionError for what is not callable and for a name that is taken.
    """
    if compiler_fn is None:
        return functools.partial(register_backend, name=name, tags=tags)
    if not callable(compiler_fn):
        raise AssertionError(f"A backend must be callable, not {type(compiler_fn)}")
    name = name or compiler_fn.__name__
    if _registered.get(name, compiler_fn) is not compiler_fn or name in _OWN_BACKENDS:
        raise AssertionError(f"duplicate name: {name}")
    _registered[name] = compiler_fn
    _tags[name] = frozenset(tags)
    return compiler_fn


def list_backends(exclude_tags=("debug", "experimental")):
    """Names for compile(backend=...). With `exclude_tags=()`, or None, those meant for debugging too."""
    excluded = frozenset(exclude_tags or ())
    debug = () if "debug" in excluded else _DEBUG_BACKENDS
    return sorted(
        {"llvm", "inductor", "cudagraphs", *debug, *(name for name in _registered if not excluded & _tags[name])}
    )


def lookup_backend(backend):
    """A callable `(GraphModule, example_inputs) -> callable` for a name; a callable is given back.

    InvalidBackend for a name that is not registered.
    """
    if not isinstance(backend, str):
        return backend
    if backend in _registered:
        return _registered[backend]
    if backend in _COMPILERS:
        return _COMPILERS[backend]
    if backend in _DEBUG_BACKENDS:
        return _interpreted
    raise InvalidBackend(backend)


def _interpreted(gm, example_inputs):
    return gm.forward


def _machine_code(gm, example_inputs):
    return _compiled(gm, "llvm")


def _replayed(gm, example_inputs):
    """The same; on a GPU, the launches of a call are one CUDA graph."""
    return _compiled(gm, "llvm", replays=True)


def _functional(gm, example_inputs):
    """The functional graph, op after op: in-place operations and views have become values."""
    return _compiled(gm, "blocks")


def _compiled(gm, backend, replays=False):
    """The captured graph, or if it has been changed (minidynamo.fx) what its code does, compiled."""
    native = getattr(gm, "_native", None)
    if native is None:
        return compile(gm.forward, backend="cudagraphs" if replays else backend)
    return native.opened(gm, backend) or native.compiled(backend, replays=replays).run


_COMPILERS = {
    "llvm": _machine_code,
    "inductor": _machine_code,
    "cudagraphs": _replayed,
    "aot_eager": _functional,
    "blocks": _functional,
}


_default_backend = None


def set_default_backend(backend):
    """What compile() uses from now on where no backend is given: a name, a callable, or None for this compiler.

    TypeError for anything else; InvalidBackend, for an unknown name, is raised by compile().
    """
    global _default_backend
    if backend is not None and not isinstance(backend, str) and not callable(backend):
        raise TypeError(f"backend has to be a name or a callable, not {type(backend)}")
    _default_backend = backend


def get_default_backend():
    """What compile() uses where no backend is given."""
    return "inductor" if _default_backend is None else _default_backend


def innermost_fn(fn, unaltered_fn_attr="_torchdynamo_orig_callable"):
    """The function under all wrappers of compile(), disable() and their kin."""
    while hasattr(fn, unaltered_fn_attr):
        fn = getattr(fn, unaltered_fn_attr)
        if not callable(fn):
            raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    return fn


def resolve_backend(backend):
    """(callable or None, name) of a backend argument."""
    if backend is None:
        return None, "llvm"
    if isinstance(backend, str):
        if backend in _registered:
            return _registered[backend], backend
        if backend in _OWN_BACKENDS:
            return None, _OWN_BACKENDS[backend]
        if backend == "aot_eager":
            return _functional, backend
        if backend in _DEBUG_BACKENDS:
            return None, "eager"
        raise InvalidBackend(backend)
    if not callable(backend):
        raise AssertionError(f"A callable or the name of a backend is expected, but {type(backend)} is provided.")
    return backend, getattr(backend, "__name__", type(backend).__name__)


def _check_options(backend, mode, options):
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be specified at the same time.")
    own = (_default_backend if backend is None else backend) in (None, "llvm", "inductor", "cudagraphs")
    if own and mode is not None and mode not in _MODES:
        raise RuntimeError(f"Unrecognized mode={mode}, should be one of: {', '.join(_MODES)}")
    if options is not None and not isinstance(options, dict):
        raise TypeError(f"options must be a dict of option names and values, got {type(options)}")
    if own and "MINIDYNAMO_TARGET" in os.environ:
        report.wanted_target(None)  # a wrong name is told here, not as each graph is compiled
    if own and options:
        from .._reference_settings import check_options

        if "target" in options:
            from .._targets import check_target

            check_target(options["target"])
        check_options({name: value for name, value in options.items() if name != "target"})
    if backend == "eager" and (options or mode):
        extra = {"options": options} if options else {"mode": mode}
        warnings.warn(f"eager backend ignoring extra kwargs {extra}", stacklevel=4)


def _wants_cudagraphs(options):
    return any(value for name, value in options.items() if name.replace("-", "_") == "triton.cudagraphs")


def compile(
    model=None,
    *,
    fullgraph=False,
    dynamic=None,
    backend=None,
    mode=None,
    options=None,
    disable=False,
):
    """Compiles a function (or gives a decorator when called without one).

    Nothing happens until the first call, which traces the bytecode, compiles the tensor operations and guards what was
    assumed. `fullgraph=True` turns every graph break into an exception; `backend` is a name of list_backends(),
    "eager", or a callable `(GraphModule, example_inputs) -> callable`. `dynamic=None` makes a size or int argument a
    symbol once it has changed, `True` from the first call, `False` never.

    `mode` says when machine code is made. "default": the first calls run on precompiled kernels, op after op, while a
    thread in the background makes it. "reduce-overhead": the first call waits for it, and no later one shares the
    processor with a compiler. "max-autotune": the same, and the first calls of each graph find out which is faster,
    machine code or precompiled kernels. Results are the same to the bit. On a GPU both modes,
    `options={"triton.cudagraphs": True}` and `backend="cudagraphs"` give the launches of each compiled graph to the
    driver as one CUDA graph; "max-autotune-no-cudagraphs" does not. A callable backend gets `mode` as it is.
    Other `options` of torch's code generator are checked and change nothing: how code is made here is decided by the
    graph. One is not torch's: `options={"target": "sm_90"}` makes the program of each graph for such a GPU as well, to
    be looked at (`explain()`, MINIDYNAMO_LOGS=kernel_code, `python -m minidynamo ptx`); the graphs run as without it.

    A function gives a function that is called as it is; a module gives a module with the same parameters. Raises at
    once RuntimeError for an unknown mode or option, or both, InvalidBackend for an unknown name of a backend,
    AssertionError for what is no callable. A compiled function raises what the plain one does and, with
    `fullgraph=True`, Unsupported.
    """
    if model is None:
        given = dict(fullgraph=fullgraph, dynamic=dynamic, backend=backend, mode=mode, options=options, disable=disable)
        return lambda fn: compile(fn, **given)
    if not callable(model):
        raise AssertionError(f"A callable function is expected, but {type(model)} is provided.")
    if dynamic not in (None, True, False):
        raise AssertionError(f"Expected dynamic to be a bool or None, got {type(dynamic)}")
    _check_options(backend, mode, options)
    backend = _default_backend if backend is None else backend
    function, name = resolve_backend(backend)
    if disable:
        return model
    if "IPython.extensions.autoreload" in sys.modules:
        importlib.import_module(f"{__package__}.reloading").follow(sys.modules["IPython.extensions.autoreload"])
    extra = {"target": options["target"]} if options and "target" in options else None
    if function is not None:
        given = {"options": options, "mode": mode if mode != "default" else None}
        extra = {key: value for key, value in given.items() if value} or None
    own_mode = _MODES.get(mode or "default", 1) if function is None else 0
    if function is None and (backend == "cudagraphs" or _wants_cudagraphs(options or {})):
        own_mode |= _REPLAYS
    dynamic = -1 if dynamic is None else int(dynamic)
    return compile_callable(model, Options(function, name, bool(fullgraph), dynamic, extra, own_mode))


def forbid_blocks(what):
    """RuntimeError, unless the settings allow `with torch._dynamo.<what>(...)`."""
    if config.raise_on_ctx_manager_usage:
        raise RuntimeError(
            f"torch._dynamo.{what}(...) is used with a context manager, which config.raise_on_ctx_manager_usage "
            "forbids: use it as a decorator, or call what it gives with a function."
        )


class OptimizeContext:
    """What optimize() gives: called with a function or a module, it compiles it.

    As a context manager (RuntimeError while config.raise_on_ctx_manager_usage is True, the default) it compiles the
    functions that are called in the block, in this thread.
    """

    def __init__(self, **options):
        self._options = options

    def __call__(self, fn):
        return compile(fn, **self._options)

    def __enter__(self):
        compiled = compile(_nothing, **self._options)
        forbid_blocks("optimize")
        _C._begin_block(None if compiled is _nothing else compiled)
        return self

    def __exit__(self, *exc):
        _C._end_block()
        return False


def _nothing():
    """Stands for the options it is compiled with."""


class DisableContext:
    """What disable() gives without a function: a decorator, and, as OptimizeContext is, a context manager."""

    def __init__(self, recursive, reason):
        self._recursive, self._reason = recursive, reason

    def __call__(self, fn):
        return disable(fn, self._recursive, reason=self._reason)

    def __enter__(self):
        forbid_blocks("disable")
        _C._begin_block(None)
        return self

    def __exit__(self, *exc):
        _C._end_block()
        return False


def optimize(
    backend="inductor", *, nopython=False, guard_export_fn=None, guard_fail_fn=None, guard_filter_fn=None,
    disable=False, dynamic=None, package=None,
):  # fmt: skip
    """Decorator form of older programs. Functions that are to hear of guards are not called."""
    return OptimizeContext(
        backend=_backend_of(backend), fullgraph=bool(nopython), dynamic=dynamic, disable=bool(disable)
    )


def optimize_assert(backend="inductor", *, dynamic=None, **unused):
    """As optimize(), a decorator form of older programs, with every graph break an exception (`fullgraph=True`)."""
    return OptimizeContext(backend=_backend_of(backend), fullgraph=True, dynamic=dynamic)


def _backend_of(backend):
    """A name is looked up at once: InvalidBackend for an unknown one."""
    if isinstance(backend, str):
        lookup_backend(backend)
    return backend


def reset_frame_count():
    """Counts of frames begin at 0 again."""
    from .utils import counters

    counters["frames"].clear()


def reset_code_caches():
    """Forgets compiled entries only."""
    _C._reset()


def is_dynamo_disable_recursive(method):
    """Whether disable() made the function with `recursive=True`, or False; None if it made it not at all."""
    if not getattr(method, "_torchdynamo_disable", False):
        return None
    return hasattr(method, "_torchdynamo_orig_callable")


def graph_break(msg=""):
    """In compiled code: ends the graph here and goes on in a new one. In plain Python: nothing."""


def skip_frame(msg=""):
    """In compiled code: leaves the whole function to plain Python; functions it calls are still compiled."""


def is_compiling():
    """True while traced, False in plain Python."""
    return False


def open_number(value):
    """While traced: a float that exists outside as a tensor (), float64, so that other values need no other code."""
    return value


def disable(fn=None, recursive=True, *, reason=None):
    """A function that is never compiled; with `recursive=False` functions it calls still are.

    A module gives a module whose calls are not compiled. Called from compiled code it is a graph break.
    AssertionError for what is not callable.
    """
    if fn is None:
        return DisableContext(recursive, reason)
    if not callable(fn):
        raise AssertionError(f"A callable function is expected, but {type(fn)} is provided.")
    if isinstance(fn, type):
        for name, method in list(vars(fn).items()):
            if isinstance(method, types.FunctionType):
                setattr(fn, name, disable(method, recursive, reason=reason))
        return fn
    asked = Disabling(bool(recursive), reason)
    module_class = loaded_module_class()
    if module_class is not None and isinstance(fn, module_class):
        return module_makers.compiled(fn, asked)
    return asked.of_function(_C._original(fn) or fn)


def _load(name, missing):
    if name != "OptimizedModule":
        return missing
    import importlib

    return importlib.import_module(f"{_PACKAGE}.nn.compiled_module").OptimizedModule


def wait_for_kernels():
    """Returns when the machine code that is being made in the background is there: before measuring, for one."""
    while not _C._wait_for_kernels(50):
        pass  # signal handlers run here


def reset():
    """Forgets every compiled entry, skip decision, logged break and callback (`_dynamo.callback`)."""
    _C._reset()
    report.forget()
    callback_handler.clear()
    backward = sys.modules.get(f"{__package__}.compiled_autograd")
    if backward is not None:
        backward.reset()


def _compiled_behind(f):
    """The compiled function that `f` calls: f itself, that of a compiled module or of a method; or None."""
    for each in (f, getattr(f, "__func__", None), getattr(f, "__dict__", {}).get("_compiled_call")):
        if each is not None and _C._original(each) is not None:
            return each
    return None


def _same_target(compiled):
    """The target that a compiled function was compiled with, as the setting, in a `with` block; None: the setting."""
    options = _C._options_of(compiled)[4] if compiled is not None else None
    return config.patch(target=(options or {}).get("target", config.target))


def explain(f, *extra_args, **extra_kwargs):
    """`explain(f)(*args)` runs f compiled, once, and returns an ExplainOutput: graphs, breaks, guards.

    Effects of the call take place, and what it raises is raised. Everything compiled before is forgotten, as by
    reset(), and so is what was compiled for the report.
    """
    from .output import ExplainOutput

    def inner(*args, **kwargs):
        reset()
        original = _C._original(f) or f
        own = _compiled_behind(f)
        compiler = _replayed if own is not None and _C._options_of(own)[5] >= _REPLAYS else None
        with recording(compiler=compiler) as record, _same_target(own):
            compiled = compile(original, backend=record.backend)  # its entries live as long as it
            compiled(*args, **kwargs)
        guards = record.guards()
        graphs = record.graphs
        op_counts = record.ops_per_graph()
        result = ExplainOutput(
            graphs=graphs,
            graph_count=len(graphs),
            graph_break_count=len(record.break_reasons),
            break_reasons=record.break_reasons,
            op_count=sum(len(ops) for ops in op_counts),
            ops_per_graph=op_counts,
            out_guards=guards,
            compile_times=record.times_text(),
            programs=record.programs,
            device_graphs=record.device_graphs,
        )
        reset()
        return result

    if extra_args or extra_kwargs:
        warnings.warn(
            "explain(f, *args, **kwargs) is deprecated, use explain(f)(*args, **kwargs) instead",
            FutureWarning,
            stacklevel=2,
        )
        return inner(*extra_args, **extra_kwargs)
    return inner


__getattr__ = _absent_names(__name__, _load)
