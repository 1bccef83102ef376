"""autocast: regions in which products are computed in a narrow dtype, and losses in float32."""

import functools
import warnings
from collections.abc import Mapping

from .. import _C
from .._absent import absent_names as _absent_names
from .._no_device import is_present
from . import _casts
from ._casts import Region, _converted, state

__all__ = ["autocast_decorator", "autocast", "is_autocast_available", "custom_fwd", "custom_bwd"]
_KINDS = ("cpu", "cuda", "xpu", "mps", "hpu", "mtia", "maia", "ipu", "xla", "privateuseone")
_OF_CPU = (_C.bfloat16, _C.float16)


def _kind_of(device_type):
    return _C.device(device_type).type


_C._mark_callable(_kind_of, "constant")


def is_autocast_available(device_type):
    """Whether autocast knows the kind of device; only for 'cpu' it changes anything. RuntimeError for no kind."""
    if not isinstance(device_type, str):
        raise TypeError(f"is_autocast_available(): device_type must be str, not {type(device_type).__name__}")
    return _kind_of(device_type) in _KINDS


def is_autocast_enabled(device_type="cuda"):
    """Whether autocast is on for the kind of device in this thread."""
    return state.enabled.get(_kind_of(device_type), False)


def set_autocast_enabled(device_type, enabled=None):
    """Switches autocast on or off in this thread: set_autocast_enabled('cpu', True); of 'cuda' with one argument."""
    kind, enabled = ("cuda", device_type) if enabled is None else (_kind_of(device_type), enabled)
    _casts.enable(kind, bool(enabled))


def get_autocast_dtype(device_type):
    """The dtype that products are computed in: bfloat16 for 'cpu', float16 for others, unless it was set."""
    kind = _kind_of(device_type)
    if kind not in _KINDS:
        raise RuntimeError(f"autocast does not know the device type {device_type!r}")
    return state.dtypes.get(kind, _usual_dtype(kind))


def _usual_dtype(kind):
    return _C.bfloat16 if kind in ("cpu", "xla") else _C.float16


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype that products are computed in, in this thread."""
    _casts.set_dtype(_kind_of(device_type), dtype)


def is_autocast_cache_enabled():
    """Whether casts of leaves that require grad are kept until the end of the outermost region."""
    return state.caches


def set_autocast_cache_enabled(enabled):
    """See is_autocast_cache_enabled()."""
    state.caches = bool(enabled)


def clear_autocast_cache():
    """Forgets the casts that were kept."""
    state.cache.clear()


def autocast_increment_nesting():
    """Counts a region that begins; gives the number of open ones."""
    state.nesting += 1
    return state.nesting


def autocast_decrement_nesting():
    """Counts a region that ends; gives the number of open ones."""
    state.nesting -= 1
    return state.nesting


def autocast_decorator(autocast_instance, func):
    """`func`, each call of which is a region of the instance."""

    @functools.wraps(func)
    def decorate_autocast(*args, **kwargs):
        with autocast_instance:
            return func(*args, **kwargs)

    return decorate_autocast


def _warn(text):
    warnings.warn(text, stacklevel=3)


_C._mark_callable(_warn, "constant")  # compiled code has warned when it was made


class autocast:
    """A region, or with @ a function, in which ops choose dtypes: products `dtype`, losses float32; not float64.

    On the CPU `dtype` is bfloat16 or float16; others warn and disable it, as do regions for CUDA devices where there
    are none. ValueError for a `device_type` that is no text, RuntimeError for one that is no kind of device.
    """

    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"device_type has to be a str, as 'cpu', got {type(device_type)}")
        self.fast_dtype = get_autocast_dtype(device_type) if dtype is None else dtype
        self.device = device_type
        self.custom_backend_name = "privateuseone"
        self._cache_enabled = is_autocast_cache_enabled() if cache_enabled is None else cache_enabled
        self._enabled = enabled
        self._before = []
        if enabled and device_type == "cuda" and not is_present():
            _warn("autocast: there are no CUDA devices, so the region changes nothing")
            self._enabled = False
        elif enabled and device_type == "cpu" and self.fast_dtype not in _OF_CPU:
            names = " and ".join(map(str, _OF_CPU))
            _warn(f"autocast on the CPU is for {names}; with {self.fast_dtype} the region changes nothing")
            self._enabled = False

    def __enter__(self):
        kind = self.device
        self._before.append((is_autocast_enabled(kind), get_autocast_dtype(kind), state.caches))
        set_autocast_enabled(kind, self._enabled)
        set_autocast_dtype(kind, self.fast_dtype)
        set_autocast_cache_enabled(self._cache_enabled)
        autocast_increment_nesting()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        if autocast_decrement_nesting() == 0:
            clear_autocast_cache()
        enabled, dtype, caches = self._before.pop()
        set_autocast_enabled(self.device, enabled)
        set_autocast_dtype(self.device, dtype)
        set_autocast_cache_enabled(caches)
        return False

    def __call__(self, func):
        return autocast_decorator(self, func)


def _cast(value, device_type, dtype):
    """Floating tensors of the device, but float64, in the dtype; also within lists, tuples and dictionaries."""
    if isinstance(value, _C.Tensor):
        fits = value.is_floating_point() and value.device.type == device_type and value.dtype != _C.float64
        return value.to(dtype) if fits else value
    if isinstance(value, Mapping):
        return {_cast(k, device_type, dtype): _cast(v, device_type, dtype) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        items = [_cast(item, device_type, dtype) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value


def _check_device(device_type):
    if not isinstance(device_type, str):
        raise ValueError(f"device_type has to be a str, as 'cpu', got {type(device_type)}")


def custom_fwd(fwd=None, *, device_type, cast_inputs=None):
    """Decorates `forward` of a Function: with `cast_inputs` its operands get that dtype, and it runs without autocast.

    Without, it runs as the caller has set autocast, and so does what custom_bwd decorates.
    """
    _check_device(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorate_fwd(ctx, *args, **kwargs):
        ctx._dtype = get_autocast_dtype(device_type)
        is_on = is_autocast_enabled(device_type)
        ctx._fwd_used_autocast = is_on and cast_inputs is None
        if cast_inputs is None or not is_on:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            args, kwargs = (_cast(given, device_type, cast_inputs) for given in (args, kwargs))
            return fwd(ctx, *args, **kwargs)

    return decorate_fwd


def custom_bwd(bwd=None, *, device_type):
    """Decorates `backward` of a Function whose forward has custom_fwd(): it runs under autocast if that did."""
    _check_device(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorate_bwd(ctx, *args, **kwargs):
        with autocast(device_type, enabled=ctx._fwd_used_autocast, dtype=ctx._dtype):
            return bwd(ctx, *args, **kwargs)

    return decorate_bwd


def applied_under(apply, kind, dtype, enabled):
    """A call of apply() with autocast for a kind of device as it is said."""

    def applied(*args, **kwargs):
        with autocast(kind, dtype=dtype if dtype in _OF_CPU else None, enabled=enabled):
            return apply(*args, **kwargs)

    return applied


# --- In compiled code ------------------------------------------------------------------------------------------------

# What is traced in the place of what reads and changes the thread's settings.


def _innermost(kind):
    """The region for that kind of device that the traced code is in; None outside of all."""
    for i in range(_C._len_torch_function_stack() - 1, -1, -1):
        mode = _C._get_function_stack_at(i)
        if type(mode) is Region and mode.kind == kind:
            return mode
    return None


def _enter_region(kind, dtype, enabled, cache_enabled):
    region = Region(kind, enabled, dtype, _converted)
    region.outer = _innermost(kind)
    if region.outer is not None:
        region.outer.covered = True
    region.__enter__()
    return region


def _leave_region(region):
    region.__exit__(None, None, None)
    if region.outer is not None:
        region.outer.covered = False


def _traced_enter(self):
    _enter_region(self.device, self.fast_dtype, self._enabled, self._cache_enabled)
    return self


def _traced_exit(self, exc_type, exc_val, exc_tb):
    _leave_region(_innermost(self.device))
    return False


def _traced_is_enabled(device_type="cuda"):
    region = _innermost(_kind_of(device_type))
    return region is not None and region.enabled


def _traced_dtype(device_type):
    kind = _kind_of(device_type)
    region = _innermost(kind)
    return _usual_dtype(kind) if region is None else region.dtype


def _traced_caches():
    return True


for _real, _traced in (
    (autocast.__enter__, _traced_enter),
    (autocast.__exit__, _traced_exit),
    (is_autocast_enabled, _traced_is_enabled),
    (get_autocast_dtype, _traced_dtype),
    (is_autocast_cache_enabled, _traced_caches),
):
    _C._mark_callable(_real, "substitute", _traced)
__getattr__ = _absent_names(__name__)
