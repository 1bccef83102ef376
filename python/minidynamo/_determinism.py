"""Settings of torch that hold what they are set to: kernels here give the same result every time, whatever is set."""

from . import _C

_MODES = ("default", "warn", "error")
_mode = 0
_warn_always = False
_fill = True


def use_deterministic_algorithms(mode, *, warn_only=False):
    """Holds the setting. All kernels here are deterministic: nothing has to be avoided."""
    global _mode
    if not isinstance(mode, bool):
        raise TypeError(f"use_deterministic_algorithms: mode must be a bool, not {type(mode).__name__}")
    _mode = (1 if warn_only else 2) if mode else 0
    _update_fill()


def _update_fill():
    """Memory nobody has written gets values that stand out, if both settings say so."""
    _C._set_deterministic_fill(_mode != 0 and _fill)


def set_fill(value):
    """What torch.utils.deterministic.fill_uninitialized_memory is set to."""
    global _fill
    _fill = value
    _update_fill()


def are_deterministic_algorithms_enabled():
    """What use_deterministic_algorithms was called with last, False at first."""
    return _mode != 0


def is_deterministic_algorithms_warn_only_enabled():
    """Whether only a warning was asked for."""
    return _mode == 1


def get_deterministic_debug_mode():
    """0, 1 or 2, see set_deterministic_debug_mode."""
    return _mode


def set_deterministic_debug_mode(debug_mode):
    """Holds 'default' or 0, 'warn' or 1, 'error' or 2. RuntimeError for other texts and ints, TypeError for others."""
    global _mode
    if isinstance(debug_mode, bool) or not isinstance(debug_mode, (str, int)):
        raise TypeError(f"debug_mode must be str or int, but got {type(debug_mode)}")
    if debug_mode not in _MODES and debug_mode not in range(len(_MODES)):
        raise RuntimeError(f"debug_mode is one of 0, 1 and 2, or of {', '.join(_MODES)}; got {debug_mode}")
    _mode = _MODES.index(debug_mode) if isinstance(debug_mode, str) else debug_mode
    _update_fill()


def is_warn_always_enabled():
    """What set_warn_always set, False at first."""
    return _warn_always


def set_warn_always(b, /):
    """Holds the setting: warnings are Python's here, whose filters decide how often they are shown."""
    global _warn_always
    if not isinstance(b, bool):
        raise RuntimeError(f"set_warn_always takes a bool, got {type(b).__name__}")
    _warn_always = b


def get_device_module(device=None):
    """The module of a kind of device: torch.cuda of 'cuda', torch.cpu by default. RuntimeError for what has none."""
    from importlib import import_module

    if device is None:
        kind = _C.get_default_device().type
    elif isinstance(device, (str, _C.device)):
        kind = _C.device(device).type
    else:
        raise RuntimeError(f"get_device_module: a device, a text or None is needed, got {device!r}")
    if kind not in ("cpu", "cuda", "xpu", "mps"):
        raise RuntimeError(f"get_device_module: there is no module torch.{kind}")
    return import_module(f".{kind}", __package__)


for _function in (
    are_deterministic_algorithms_enabled,
    is_deterministic_algorithms_warn_only_enabled,
    get_deterministic_debug_mode,
    is_warn_always_enabled,
):
    _C._mark_callable(_function, "dont_skip")
