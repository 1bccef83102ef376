"""Settings of the compiler: `minidynamo._dynamo.config.<name>`.

Assignment sets the process default. `patch(name=value)` is a context manager and decorator whose values are seen by the
current context only (a thread, an asyncio task), so that one user's patch does not leak into another's compilation. A
compilation reads one snapshot at its start.

Environment variables set defaults at import; of a pair, MINIDYNAMO_<NAME> wins over the variable of the reference.
"""

import contextlib
import contextvars
import os
import sys
import types
import warnings

from .. import _C

_REGISTRY = "https://pytorch-labs.github.io/compile-graph-break-site"
_ENV_TRUE = {"1", "true", "True", "on", "ON", "yes"}


def _env_flag(default, *names):
    """The first variable that is set decides."""
    for name in names:
        if name in os.environ:
            return os.environ[name] in _ENV_TRUE
    return default


def _own_defaults():
    return {
        # Compile and run compiled code although a debugger, profiler or coverage tool watches the thread.
        "compile_while_traced": False,
        # Replace a frame by compiled code also when there is no tensor operation in it.
        "force_replace": False,
        # Trace constructs the reference breaks on although they can be traced.
        "trace_more": False,
        # Run new graphs on precompiled kernels until a thread in the background has made machine code of them.
        "background_compile": _env_flag(True, "MINIDYNAMO_BACKGROUND_COMPILE"),
        # Another processor ("sm_90") for which programs of all graphs are made as well, to be looked at; "": none.
        "target": "",
        # For tests: break at every n-th place where a frame can resume, or at one (any, with trace_more); 0: nowhere.
        "break_every": 0,
        "break_at": 0,
        # Where the links of graph-break messages point.
        "registry_url": os.environ.get("MINIDYNAMO_REGISTRY_URL", _REGISTRY),
    }


def _defaults():
    tracing = {
        "capture_scalar_outputs": _env_flag(
            False, "MINIDYNAMO_CAPTURE_SCALAR_OUTPUTS", "TORCHDYNAMO_CAPTURE_SCALAR_OUTPUTS"
        ),
        "capture_dynamic_output_shape_ops": _env_flag(
            False, "MINIDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS", "TORCHDYNAMO_CAPTURE_DYNAMIC_OUTPUT_SHAPE_OPS"
        ),
        "trace_numpy": True,
        "allow_rnn": False,
        "allow_empty_graphs": False,
        "dead_code_elimination": True,
        "nested_graph_breaks": False,
        "debug_force_graph_break_on_leaf_return": False,
        "rewrite_assert_with_torch_assert": True,
        "raise_on_ctx_manager_usage": True,
        "graph_break_on_nn_param_ctor": True,
        "only_allow_pt2_compliant_ops": False,
        "enable_faithful_generator_behavior": True,
        "enable_trace_contextlib": True,
        "enable_trace_unittest": False,
        "inject_BUILD_SET_unimplemented_TESTING_ONLY": False,
        "dont_skip_tracing": False,
        "reorderable_logging_functions": set(),
        "ignore_logger_methods": set(),
        "inline_inbuilt_nn_modules": True,
        "compiled_autograd": False,
        "optimize_ddp": True,
        "numpy_default_float": "float64",
        "numpy_default_int": "int64",
        "numpy_default_complex": "complex128",
        "use_numpy_random_stream": False,
    }
    shapes = {
        "automatic_dynamic_shapes": True,
        "assume_static_by_default": True,
        "dynamic_shapes": True,
        "specialize_int": False,
        "specialize_float": False,
        "allow_unspec_int_on_nn_module": False,
        "force_parameter_static_shapes": True,
        "force_nn_module_property_static_shapes": True,
        "prefer_deferred_runtime_asserts_over_guards": False,
        "do_not_emit_runtime_asserts": False,
    }
    entries = {
        "recompile_limit": 8,
        "accumulated_recompile_limit": 256,
        "fail_on_recompile_limit_hit": False,
        "error_on_recompile": False,
        "skip_code_recursive_on_recompile_limit_hit": True,
        "report_guard_failures": True,
        "guard_nn_modules": True,
        "skip_nnmodule_hook_guards": True,
        "minimum_call_count": 1,
        "caching_precompile": False,
    }
    running = {
        "verbose": _env_flag(False, "MINIDYNAMO_VERBOSE", "TORCHDYNAMO_VERBOSE"),
        "suppress_errors": _env_flag(False, "MINIDYNAMO_SUPPRESS_ERRORS", "TORCHDYNAMO_SUPPRESS_ERRORS"),
        "disable": _env_flag(False, "MINIDYNAMO_DISABLE", "TORCH_COMPILE_DISABLE"),
        "cprofile": False,
        "run_gc_after_compile": True,
        "log_file_name": None,
        "allow_ignore_mark_dynamic": False,
        "enable_cpp_guard_manager": True,
        "error_on_nested_fx_trace": True,
        "issue_3_13_0_warning": True,
        "replay_record_enabled": False,
        "repro_after": os.environ.get("TORCHDYNAMO_REPRO_AFTER"),
        "repro_level": 2,
        "skip_fsdp_guards": True,
        "traceable_tensor_subclasses": set(),
        "verify_correctness": False,
    }
    return {**tracing, **shapes, **entries, **running, **_own_defaults()}


# Older names of the same entry.
_ALIASES = {
    "cache_size_limit": "recompile_limit",
    "accumulated_cache_size_limit": "accumulated_recompile_limit",
    "fail_on_cache_limit_hit": "fail_on_recompile_limit_hit",
}

# Settings of the reference that a program may set and that nothing here reads, with what holds instead. Setting one to
# something other than its default warns once. tests/python/test_settings_are_read.py keeps the table true.
NO_EFFECT = {
    "allow_unspec_int_on_nn_module": "ints of modules are constants that are guarded",
    "caching_precompile": "nothing compiled is kept on disk",
    "cprofile": "compilations are not profiled",
    "dead_code_elimination": "operations without a use are never kept in machine code",
    "debug_force_graph_break_on_leaf_return": "break_every and break_at force breaks",
    "do_not_emit_runtime_asserts": "what is asserted of sizes is always checked",
    "dont_skip_tracing": "library files are entered where the decorator dont_skip_tracing says so",
    "enable_faithful_generator_behavior": "generators always run step by step, as in plain Python",
    "enable_trace_contextlib": "context managers made by contextlib are always traced",
    "force_nn_module_property_static_shapes": "tensors in attributes of modules have fixed sizes",
    "force_parameter_static_shapes": "parameters have fixed sizes",
    "graph_break_on_nn_param_ctor": "making a Parameter in compiled code always breaks the graph",
    "guard_nn_modules": "modules are always guarded",
    "inline_inbuilt_nn_modules": "modules are always traced in place",
    "log_file_name": "logs go to the handlers of the logging module",
    "minimum_call_count": "a function is compiled at its first call",
    "nested_graph_breaks": "a break in a called function is resumed in its caller; trace_more resumes in more places",
    "numpy_default_complex": "NumPy's own default dtypes hold",
    "numpy_default_float": "NumPy's own default dtypes hold",
    "numpy_default_int": "NumPy's own default dtypes hold",
    "optimize_ddp": "there is no distributed training",
    "prefer_deferred_runtime_asserts_over_guards": "what is assumed of sizes is always a guard",
    "report_guard_failures": "failed guards are reported by TORCH_LOGS=recompiles",
    "rewrite_assert_with_torch_assert": "an assert on a tensor is always part of the graph, or breaks it",
    "run_gc_after_compile": "compiling never starts a garbage collection",
    "skip_nnmodule_hook_guards": "hooks of modules are always guarded",
    "use_numpy_random_stream": "NumPy's random functions always run as NumPy",
    "enable_cpp_guard_manager": "guards are always native code",
    "error_on_nested_fx_trace": "functions traced by torch.fx are compiled like others",
    "issue_3_13_0_warning": "there is nothing to warn of",
    "replay_record_enabled": "no records for a replay are written",
    "repro_after": "no programs that show a failure are written",
    "repro_level": "no programs that show a failure are written",
    "skip_fsdp_guards": "there is no distributed training",
    "traceable_tensor_subclasses": "all subclasses of Tensor are traced",
    "verify_correctness": "results of a backend are not compared with those of another one",
}
_OF_THE_MACHINE = ("log_file_name", "registry_url", "target")
_COPIES = (
    "codegen_config", "get_config_copy", "get_hash", "get_serializable_config_copy", "is_default", "load_config",
    "save_config", "shallow_copy_dict", "to_dict",
)  # fmt: skip
_warned = set()


def _warn_without_effect(name, value, stacklevel):
    """Says once of each setting that nothing reads it."""
    if name in NO_EFFECT and value != _DEFAULTS[name] and name not in _warned:
        _warned.add(name)
        warnings.warn(
            f"torch._dynamo.config.{name} has no effect in minidynamo: {NO_EFFECT[name]}",
            UserWarning,
            stacklevel=stacklevel + 1,
        )


_DEFAULTS = _defaults()
_values = {name: set(value) if isinstance(value, set) else value for name, value in _DEFAULTS.items()}
# What native code asks for in each call; it is told when one of them changes.
_SWITCHES = {"disable", "compile_while_traced"}
# Names patched in this context; an immutable dict replaced as a whole, None when there is no patch.
_overlay = contextvars.ContextVar("minidynamo_config_overlay", default=None)


def _entry(name):
    name = _ALIASES.get(name, name)
    if name not in _DEFAULTS:
        raise AttributeError(f"torch._dynamo.config.{name} does not exist")
    return name


def _checked(name, value):
    default = _DEFAULTS[name]
    if type(default) is int and (not isinstance(value, int) or isinstance(value, bool)):
        raise TypeError(f"torch._dynamo.config.{name} must be an int, got {value!r}")
    if type(default) is str and not isinstance(value, str):
        raise TypeError(f"torch._dynamo.config.{name} must be a str, got {value!r}")
    if name == "target" and value:
        from .._targets import check_target

        check_target(value)
    return value


def _get(name):
    overlay = _overlay.get()
    if overlay and name in overlay:
        return overlay[name]
    return _values[name]


def _set(name, value):
    """Inside a patch of the same name the patched value changes, and its end restores the one before."""
    overlay = _overlay.get()
    if overlay and name in overlay:
        _overlay.set({**overlay, name: value})
    else:
        _values[name] = value
        _tell_switches({name})


def _tell_switches(changed, patched=None):
    if not _SWITCHES.isdisjoint(changed):
        _C._set_switches(bool(_values["disable"]), bool(_values["compile_while_traced"]), patched)


def _snapshot():
    """Every entry as the current context sees it: a plain dict, read once by a compilation."""
    return {**_values, **(_overlay.get() or {})}


class _Patch(contextlib.ContextDecorator):
    """Entering makes the changes visible in the current context, leaving takes them back."""

    def __init__(self, changes):
        self._changes = {_entry(name): _checked(_entry(name), value) for name, value in changes.items()}
        self._before = []
        for name, value in self._changes.items():
            _warn_without_effect(name, value, stacklevel=3)

    def _recreate_cm(self):
        return type(self)(self._changes)  # a decorated function may run in several threads at once

    def __enter__(self):
        overlay = _overlay.get() or {}
        self._before.append({name: overlay[name] for name in self._changes if name in overlay})
        _overlay.set({**overlay, **self._changes})
        _tell_switches(self._changes, _overlay)

    def __exit__(self, *exc):
        kept = {name: v for name, v in (_overlay.get() or {}).items() if name not in self._changes}
        _overlay.set({**kept, **self._before.pop()} or None)
        return False


class _Config(types.ModuleType):
    """The module itself: attribute reads and writes go to the entries."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return _get(_entry(name))

    def __setattr__(self, name, value):
        if name.startswith("__"):  # the import system's own attributes
            return super().__setattr__(name, value)
        name = _entry(name)
        value = _checked(name, value)
        _warn_without_effect(name, value, stacklevel=2)
        _set(name, value)

    def __delattr__(self, name):
        """Back to the default."""
        name = _entry(name)
        default = _DEFAULTS[name]
        _set(name, set(default) if isinstance(default, set) else default)

    def __dir__(self):
        return sorted([*_DEFAULTS, *_ALIASES, *_COPIES, "patch"])

    def patch(self, name=None, value=None, **changes):
        """patch(x=1), patch("x", 1) or patch({"x": 1}): context manager and decorator."""
        if isinstance(name, dict):
            changes = {**name, **changes}
        elif name is not None:
            changes[name] = value
        if not changes:
            raise TypeError("config.patch() needs at least one entry to change")
        return _Patch(changes)

    def use_here(self, changes):
        """Sets entries, given as pairs, in this context; gives the pairs that set them back."""
        before = tuple((name, _get(_entry(name))) for name, _ in changes)
        made = {_entry(name): _checked(_entry(name), value) for name, value in changes}
        overlay = {**(_overlay.get() or {}), **made}
        _overlay.set({name: v for name, v in overlay.items() if name not in made or v != _values[name]} or None)
        _tell_switches(made, _overlay)
        return before

    def get_config_copy(self):
        """A dict of every entry; containers are copied."""
        return {name: set(v) if isinstance(v, set) else v for name, v in _snapshot().items()}

    to_dict = get_config_copy

    def shallow_copy_dict(self):
        """A dict of every entry."""
        return _snapshot()

    def get_serializable_config_copy(self):
        """A dict of the entries that say something of the program, not of the machine."""
        return {name: value for name, value in self.get_config_copy().items() if name not in _OF_THE_MACHINE}

    def codegen_config(self):
        """The assignments, as a program, that set what differs from the defaults."""
        changed = {name: value for name, value in _snapshot().items() if value != _DEFAULTS[name]}
        return "\n".join([f"torch._dynamo.config.{name} = {value!r}" for name, value in changed.items()])

    def get_hash(self):
        """Bytes that differ where entries differ."""
        import hashlib

        rows = [(name, sorted(v) if isinstance(v, set) else v) for name, v in sorted(_snapshot().items())]
        return hashlib.md5(repr(rows).encode(), usedforsecurity=False).digest()

    def save_config(self):
        """Every entry as bytes, for load_config()."""
        import pickle

        return pickle.dumps(self.get_config_copy())

    def load_config(self, maybe_pickled_config):
        """Sets the entries of a dict, or of the bytes save_config() gave."""
        import pickle

        given = maybe_pickled_config
        for name, value in (given if isinstance(given, dict) else pickle.loads(given)).items():
            if _get(_entry(name)) != value:
                setattr(self, name, value)

    def is_default(self, name):
        """Whether the entry has its default."""
        return _get(_entry(name)) == _DEFAULTS[_entry(name)]


sys.modules[__name__].__class__ = _Config
_tell_switches(_SWITCHES)
