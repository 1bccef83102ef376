"""What the compiler did. The names are the reference's: programs read `torch._dynamo.utils.counters`."""

import collections
import contextlib
import functools
import sys
import time
import types

from .. import _C
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

_PACKAGE = __name__.partition(".")[0]
_KEPT = 64
_metrics = collections.deque(maxlen=_KEPT)


def get_compilation_metrics():
    """The last 64 compilations, oldest first, as CompilationMetrics. Compilations of a function after its first have a
    `recompile_reason`: what had changed, its old and new value, who called, and what to do about it.
    """
    return list(_metrics)


def clear_compilation_metrics():
    """Forgets the compilations that get_compilation_metrics() gives; reset() does not."""
    _metrics.clear()


compilation_time_metrics = {}  # seconds of each part of the compiler, by name


def compile_times(repr="str", aggregate=False):
    """How long compilations took: a text, or for "csv" (names, times); None for any other `repr`.

    Of each function the compilations that get_compilation_metrics() knows; with `aggregate` their sum.
    """
    rows = collections.defaultdict(list)
    for made in _metrics:
        rows["_compile.compile_inner"].append(made.entire_frame_compile_time_s)
    times = {name: [sum(each)] if aggregate else each for name, each in rows.items()}
    if repr == "csv":
        return list(times), [", ".join(f"{x:.6f}" for x in each) for each in times.values()]
    if repr != "str":
        return None
    lines = [f"{name}, {', '.join(f'{x:.4f}' for x in each)}" for name, each in times.items()]
    return "\n".join(["TorchDynamo compilation metrics:", "Function, Runtimes (s)", *lines])


def istype(obj, allowed_types):
    """Whether the class of the object is the type, or one of some types; classes derived from them are others."""
    if isinstance(allowed_types, (tuple, list, set)):
        return type(obj) in allowed_types
    return type(obj) is allowed_types


def istensor(obj):
    """Whether it is a tensor or a parameter, and of no class derived from these."""
    return isinstance(obj, _C.Tensor) and type(obj).__module__.partition(".")[0] == _PACKAGE


def is_namedtuple_cls(cls):
    """Whether the class is a tuple of named fields, made by collections.namedtuple, or of torch.return_types."""
    return isinstance(cls, type) and issubclass(cls, tuple) and (hasattr(cls, "_fields") or hasattr(cls, "n_fields"))


def is_namedtuple(obj):
    """Whether it is an instance of such a class."""
    return is_namedtuple_cls(type(obj))


def namedtuple_fields(cls):
    """Names of the fields of such a class."""
    if hasattr(cls, "_fields"):
        return cls._fields
    return tuple([name for name in vars(cls) if not name.startswith("_") and not name.startswith("n_")])


class ExactWeakKeyDictionary:
    """Keys are compared by `is`, and their entries go with them."""

    def __init__(self):
        self.values = {}
        self.refs = {}

    def __getitem__(self, key):
        return self.values[id(key)]

    def get(self, key, default=None):
        return self.values.get(id(key), default)

    def __contains__(self, key):
        return id(key) in self.values

    def __setitem__(self, key, value):
        import weakref

        number = id(key)
        if number not in self.refs:
            self.refs[number] = weakref.ref(key, lambda ref: self._forget(number))
        self.values[number] = value

    def _forget(self, number):
        self.values.pop(number, None)
        self.refs.pop(number, None)

    def clear(self):
        self.refs.clear()
        self.values.clear()


def is_compile_supported(device_type):
    """Whether code is compiled for this kind of device."""
    return device_type == "cpu"


def nnmodule_has_hooks(mod, check_forward_hooks=False, check_backward_hooks=False, check_state_dict_hooks=False):
    """Whether a module has hooks: of these kinds, or of any if none is named."""
    kinds = {
        "forward": ("_forward_pre_hooks", "_forward_hooks"),
        "backward": ("_backward_pre_hooks", "_backward_hooks"),
        "state_dict": ("_state_dict_pre_hooks", "_state_dict_hooks", "_load_state_dict_pre_hooks",
                       "_load_state_dict_post_hooks"),
    }  # fmt: skip
    asked = dict(forward=check_forward_hooks, backward=check_backward_hooks, state_dict=check_state_dict_hooks)
    names = [name for kind, each in kinds.items() if asked[kind] or not any(asked.values()) for name in each]
    return any(getattr(mod, name, None) for name in names)


def is_numpy_ndarray(value):
    """Whether it is an array of NumPy."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray


def is_torch_sym(value):
    """False: sizes are ints."""
    return False


def is_function(value):
    """Whether it is a function, in Python or C."""
    return isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodDescriptorType))


def is_utils_checkpoint(obj):
    """Whether it is torch.utils.checkpoint.checkpoint."""
    home = sys.modules.get(f"{_PACKAGE}.utils.checkpoint")
    return home is not None and obj is home.checkpoint


def identity(x):
    return x


def nothing(*args, **kwargs):
    pass


def hashable(x):
    """Whether it has a hash."""
    try:
        hash(x)
    except TypeError:
        return False
    return True


@functools.lru_cache(None)
def print_once(*args):
    """Prints what has not been printed by it before."""
    print(*args)


def product(it):
    """The factors multiplied; 1 if there are none."""
    found = 1
    for factor in it:
        found *= factor
    return found


def make_cell(val=None):
    """A cell of a closure."""
    return types.CellType(val)


def count_calls(graph):
    """Number of call nodes of a graph."""
    return sum("call" in node.op for node in graph.nodes)


def timed(model, example_inputs, times=1):
    """(what the last call gives, seconds of all calls); random numbers are the same in each."""
    from .. import random

    before = time.perf_counter()
    found = None
    for _ in range(times):
        random.manual_seed(1337)
        found = model(*example_inputs)
    return found, time.perf_counter() - before


@contextlib.contextmanager
def preserve_rng_state():
    """Random numbers drawn in the block are not missed after it."""
    from .. import random

    state = random.get_rng_state()
    try:
        yield
    finally:
        random.set_rng_state(state)


@contextlib.contextmanager
def disable_cache_limit():
    """`with disable_cache_limit():` functions are compiled as often as it takes, past `config.recompile_limit`."""
    from . import config

    with config.patch(recompile_limit=sys.maxsize >> 32, accumulated_recompile_limit=sys.maxsize >> 32):
        yield


_COMPARISON = ("same", "rmse", "bitwise_same", "clone_input", "clone_inputs")


def _load(name, missing):
    """What needs the compiler, which is built on this module."""
    import importlib

    if name in _COMPARISON:
        return getattr(importlib.import_module(f"{__package__}.comparison"), name)
    if name == "maybe_enable_compiled_autograd":
        return importlib.import_module(f"{__package__}.compiled_autograd").maybe_enable_compiled_autograd
    return missing


__getattr__ = _absent_names(__name__, _load)
