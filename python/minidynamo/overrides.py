"""torch.overrides: what modes and classes with `__torch_function__` are built with.

A class with `__torch_function__(cls, func, types, args, kwargs)` is asked about every call that has an instance of it
among its arguments (one level of lists and tuples included); a mode about every call while it is active.
"""

import builtins
import contextlib
import functools
import types

from . import _C
from ._absent import absent_names as _absent_names

__all__ = [
    "enable_reentrant_dispatch",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

has_torch_function = _C._has_torch_function
has_torch_function_unary = _C._has_torch_function_unary
has_torch_function_variadic = _C._has_torch_function_variadic
_get_function_stack_at = _C._get_function_stack_at
_len_torch_function_stack = _C._len_torch_function_stack
_push_on_torch_function_stack = _C._push_on_torch_function_stack
_pop_torch_function_stack = _C._pop_torch_function_stack

# Functions of these modules can be overridden, unless they are about no tensor. One that several have goes by its
# name in the last of them.
_SPACES = ("special", "", "functional", "nn.functional", "nn.init", "Tensor", "linalg", "fft")
# Names of the first module whose functions ask nobody: they answer about the library, or make what has no arguments.
_IGNORED = """
    typename is_tensor is_storage set_default_tensor_type set_default_device get_default_device set_rng_state
    get_rng_state manual_seed initial_seed seed save load set_printoptions fork get_default_dtype
    get_num_interop_threads get_num_threads init_num_threads import_ir_module is_anomaly_enabled is_grad_enabled
    is_inference_mode_enabled merge_type_from_type_comment parse_ir parse_schema parse_type_comment
    set_anomaly_enabled set_flush_denormal set_num_interop_threads set_num_threads wait as_tensor from_numpy tensor
    default_generator empty eye finfo frombuffer from_file full iinfo linspace logspace ones promote_types rand randn
    randint randperm range result_type scalar_tensor zeros arange can_cast compile cond vmap no_grad enable_grad
    set_grad_enabled set_default_dtype get_file_path
    are_deterministic_algorithms_enabled use_deterministic_algorithms get_deterministic_debug_mode
    set_deterministic_debug_mode set_float32_matmul_precision get_float32_matmul_precision
    is_deterministic_algorithms_warn_only_enabled set_warn_always is_warn_always_enabled asarray
    hann_window hamming_window kaiser_window bartlett_window blackman_window
""".split()
_IGNORED_METHODS = """
    as_subclass __new__ __init__ __init_subclass__ __class__ __dict__ __delattr__ __getattribute__ __setattr__ __str__
    __subclasshook__ __sizeof__ __torch_function__ __torch_dispatch__ _make_subclass _make_wrapper_subclass new
    __iter__ __dir__
""".split()


def is_tensor_like(inp):
    """Whether the class of `inp` is Tensor, or has `__torch_function__`."""
    return builtins.type(inp) is _C.Tensor or hasattr(inp, "__torch_function__")


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """What modes and the classes of `relevant_args` answer to public_api(*args, **kwargs); TypeError if nobody does."""
    return _C._handle_torch_function(public_api, tuple(relevant_args), args, kwargs)


def _get_overloaded_args(relevant_args, get_type_fn=None):
    """Of `relevant_args` one for each class that is asked, in the order in which they are."""
    return _C._overloaded_args(tuple(relevant_args))


def wrap_torch_function(dispatcher):
    """Decorator: overrides of what dispatcher(*args, **kwargs) returns are asked before the function is called."""

    def decorate(function):
        @functools.wraps(function)
        def asking(*args, **kwargs):
            relevant = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(relevant):
                return handle_torch_function(asking, relevant, *args, **kwargs)
            return function(*args, **kwargs)

        return asking

    return decorate


class TorchFunctionMode:
    """Base of modes: within `with mode:`, its `__torch_function__(func, types, args, kwargs)` answers every call.

    While it answers it is not active, so that it may call `func`; modes around it then are asked in their turn.
    """

    inner: "TorchFunctionMode"

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError(f"{builtins.type(self).__name__} has no __torch_function__ of its own")

    def __enter__(self):
        _C._push_on_torch_function_stack(self)
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        _C._pop_torch_function_stack()

    @classmethod
    def push(cls, *args, **kwargs):
        """The same as making an instance."""
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _get_current_function_mode():
    """The innermost mode of this thread; None if none is active."""
    count = _C._len_torch_function_stack()
    return _C._get_function_stack_at(count - 1) if count else None


def _get_current_function_mode_stack():
    """All modes of this thread, the outermost first."""
    return [_C._get_function_stack_at(i) for i in builtins.range(_C._len_torch_function_stack())]


def _is_torch_function_mode_enabled():
    return _C._len_torch_function_stack() > 0 and not _C._is_torch_function_all_disabled()


def _push_mode(mode):
    _C._push_on_torch_function_stack(mode)


def _pop_mode():
    return _C._pop_torch_function_stack()


@contextlib.contextmanager
def _pop_mode_temporarily():
    """Within the block, the innermost mode is off the stack."""
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def _enable_torch_function():
    """Within the block, overrides are asked again that an enclosing DisableTorchFunction switched off."""
    with _C._EnableTorchFunction():
        yield


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """Within the block, calls of a handler are dispatched like any other: they always are here."""
    yield


def redispatch_function(func, types, args=(), kwargs=None):
    """func(*args, **kwargs), asking no subclass."""
    with _C.DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def get_default_nowrap_functions():
    """What Tensor's own `__torch_function__` hands on without making it an instance of the subclass."""
    return {_C.Tensor._base.__get__, _C.Tensor.grad.__get__, _C.Tensor._grad.__get__}


def _space(name):
    from importlib import import_module

    if name == "Tensor":
        return _C.Tensor
    return import_module(f"{__package__}.{name}" if name else __package__)


def _functions_of(space, name):
    ignored = _IGNORED if name == "" else _IGNORED_METHODS if name == "Tensor" else ()
    for attribute in sorted({*dir(space), *getattr(space, "__all__", ())}):
        if attribute in ignored or (name != "Tensor" and attribute.startswith("_")):
            continue
        try:
            value = getattr(space, attribute)
        except AttributeError:
            continue
        if isinstance(value, (builtins.type, types.ModuleType)):
            continue
        if name == "Tensor" and attribute.startswith("__") and attribute in dir(object):
            if attribute not in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__repr__", "__format__",
                                 "__hash__", "__reduce_ex__"):  # fmt: skip
                continue
        if not callable(value) and hasattr(value, "__get__"):
            yield attribute, value.__get__
        elif callable(value):
            yield attribute, value


@functools.cache
def _tables():
    overridable, names = {}, {}
    for name in _SPACES:
        try:
            space = _space(name)
        except (ImportError, AttributeError):
            continue
        shown = f"torch.{name}" if name else "torch"
        for attribute, function in _functions_of(space, name):
            overridable.setdefault(space, []).append(function)
            getter = name == "Tensor" and builtins.type(function).__name__ == "method-wrapper"
            names[function] = f"{shown}.{attribute}" + (".__get__" if getter else "")
    return overridable, names


def get_overridable_functions():
    """{module or class: [function, ...]}: what overrides are asked about; attributes stand there as their `__get__`."""
    return {space: list(functions) for space, functions in _tables()[0].items()}


def get_ignored_functions():
    """The set of functions that overrides are never asked about."""
    module = _space("")
    named = [getattr(module, name, None) for name in _IGNORED]
    return set(filter(callable, named + [getattr(_C.Tensor, name, None) for name in _IGNORED_METHODS]))


def get_testing_overrides():
    """{function: an override that takes the same arguments, whatever they are, and returns -1}."""
    return {function: lambda *args, **kwargs: -1 for functions in _tables()[0].values() for function in functions}


def resolve_name(f):
    """The name under which programs reach an overridable function, "torch.Tensor.add"; None for other objects."""
    name = getattr(f, "__name__", None)
    for space in reversed(_SPACES) if isinstance(name, str) else ():
        if getattr(_space(space), name, None) is f:  # loads what is loaded on demand
            return f"torch.{space}.{name}" if space else f"torch.{name}"
    try:
        return _tables()[1].get(f)
    except TypeError:  # not hashable
        return None


@functools.cache
def _methods():
    return set(_tables()[0].get(_C.Tensor, ()))


def is_tensor_method_or_property(func):
    """Whether `func` is a method of Tensor, or the `__get__` or `__set__` of an attribute."""
    return func in _methods() or getattr(func, "__name__", None) in ("__get__", "__set__", "__delete__")


__getattr__ = _absent_names(__name__)
