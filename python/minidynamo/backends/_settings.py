"""Settings of torch.backends: attributes of modules that hold what they were set to.

On the CPU they steer nothing, in torch as here; programs set them and read them back. Products on GPUs follow those
that _matmul.py tells them of. The text of a setting's error names it.
"""

import sys
import types

_frozen = False
_PRECISIONS = ("none", "ieee", "tf32", "bf16")


def freeze():
    """From here on the settings that flags() covers change only within flags()."""
    global _frozen
    _frozen = True


def is_frozen():
    """Whether freeze() was called and no flags() is open."""
    return _frozen


class Thawed:
    """Settings may be changed within."""

    def __enter__(self):
        global _frozen
        self._before, _frozen = _frozen, False

    def __exit__(self, *error):
        global _frozen
        _frozen = self._before


class Setting:
    """An attribute with a default; `check(value, name)` raises for what it cannot be set to. Read-only without one.

    `then(holder, value)` is called after it was set.
    """

    def __init__(self, default, check=None, freezes=True, then=None):
        self.default, self.check, self.freezes, self.then = default, check, freezes, then

    def __set_name__(self, owner, name):
        self.name, self.key = name, "_setting_" + name

    def __get__(self, holder, owner=None):
        return self if holder is None else getattr(holder, self.key, self.default)

    def __set__(self, holder, value):
        if self.check is None:
            raise RuntimeError(f"{self.name} is not for setting: it tells what there is")
        if self.freezes and _frozen:
            raise RuntimeError(
                f"torch.backends: {self.name} can no longer be set, as disable_global_flags() was called; "
                "use flags() as a context manager"
            )
        self.check(value, self.name)
        setattr(holder, self.key, value)
        if self.then is not None:
            self.then(holder, value)


def is_bool(value, name):
    """RuntimeError unless `value` is a bool."""
    if not isinstance(value, bool):
        raise RuntimeError(f"{name} is a bool, got {type(value).__name__}")


def anything(value, name):
    """No value is refused."""


def one_of(*values):
    """A check: RuntimeError unless the value is among `values`."""

    def check(value, name):
        if value not in values:
            raise RuntimeError(f"{name}: unknown value {value!r}, expected one of {', '.join(values)}")

    return check


def precision_of(backend, *, lacks=()):
    """A check for an `fp32_precision` of `backend`, which has none of the precisions `lacks`."""

    def check(value, name):
        one_of(*_PRECISIONS)(value, name)
        if value in lacks:
            raise RuntimeError(f"{name}: {backend} has no precision {value!r}")

    return check


class Precision:
    """The `fp32_precision` of one kind of op."""

    fp32_precision = Setting("none", precision_of("this backend"), freezes=False)

    def __init__(self, backend, op):
        self.backend, self.op = backend, op


def hold_settings(module, **settings):
    """Makes the Settings attributes of the module of that name."""
    kind = type("SettingsModule", (types.ModuleType,), settings)
    for name, setting in settings.items():
        setting.__set_name__(kind, name)
        setattr(sys.modules[module], setting.key, setting.default)  # a module's own __getattr__ is not to be asked
    sys.modules[module].__class__ = kind
