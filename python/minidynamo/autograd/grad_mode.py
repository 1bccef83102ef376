"""Grad and inference modes: thread-local flags switched by context managers that also decorate functions."""

import warnings

from .. import _C
from .._absent import absent_names as _absent_names
from .in_mode import decorated, decorated_class

__all__ = ["enable_grad", "inference_mode", "no_grad", "set_grad_enabled", "set_multithreading_enabled"]


class _ModeSwitch:
    """Enters the mode on `with`; as a decorator, around every call of the function.

    A generator runs in the mode each time it goes on. Of a class (FutureWarning) the calls that make instances do.
    """

    _is_bare = False

    def __call__(self, function):
        if not callable(function):
            raise TypeError(f"{type(self).__name__} decorates functions, not {function!r}")
        if isinstance(function, type):
            warnings.warn(
                f"{type(self).__name__} on the class {function.__name__} makes a function of it, which switches while "
                "an instance is made, and not in its methods: decorate `__init__` or the methods that are meant",
                FutureWarning,
                stacklevel=3 if self._is_bare else 2,
            )
            return decorated_class(function, type(self), self._given())
        return decorated(function, type(self), self._given())

    def _given(self):
        return ()


class _SwitchOnConstruction(_ModeSwitch):
    """`no_grad` and `enable_grad`: usable bare, as in `@no_grad`, and called, as in `@no_grad()`."""

    _enabled = True

    def __new__(cls, function=None):
        made = super().__new__(cls)
        if function is None:
            return made
        made._is_bare = True
        return made(function)

    def __init__(self):
        self.prev = None

    def __enter__(self):
        self.prev = _C.is_grad_enabled()
        _C._set_grad_enabled(self._enabled)

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_grad_enabled(self.prev)


class no_grad(_SwitchOnConstruction):
    """Switches gradients off for a block or a function."""

    _enabled = False


class enable_grad(_SwitchOnConstruction):
    """Switches gradients on for a block or a function."""


class set_grad_enabled(_ModeSwitch):
    """Switches gradients at once; used with `with`, until the end of the block."""

    def __init__(self, mode):
        self.prev = _C.is_grad_enabled()
        self.mode = bool(mode)
        _C._set_grad_enabled(self.mode)

    def __call__(self, function):
        # As a decorator only the calls switch, not the decoration.
        _C._set_grad_enabled(self.prev)
        return super().__call__(function)

    def __enter__(self):
        _C._set_grad_enabled(self.mode)

    def __exit__(self, exc_type, exc_value, traceback):
        _C._set_grad_enabled(self.prev)

    def __str__(self):
        return f"torch.autograd.grad_mode.set_grad_enabled(mode={self.mode})"

    __repr__ = __str__

    def _given(self):
        return (self.mode,)


class set_multithreading_enabled(_ModeSwitch):
    """Says at once whether the way back may use several threads; used with `with`, until the end of the block.

    Nothing else depends on it: here the operators of the way back run one after another, each on all threads.
    """

    _now = True

    def __init__(self, mode):
        self.prev = set_multithreading_enabled._now
        self.mode = set_multithreading_enabled._now = bool(mode)

    def __enter__(self):
        set_multithreading_enabled._now = self.mode

    def __exit__(self, exc_type, exc_value, traceback):
        set_multithreading_enabled._now = self.prev

    def clone(self):
        """Another one with the same mode."""
        return set_multithreading_enabled(self.mode)

    def _given(self):
        return (self.mode,)


class inference_mode(_ModeSwitch):
    """Switches gradients and their bookkeeping off for a block or a function."""

    def __new__(cls, mode=True):
        made = super().__new__(cls)
        if isinstance(mode, bool):
            return made
        made.mode = made._is_bare = True
        return made(mode)

    def __init__(self, mode=True):
        self.mode = mode
        self.prev = None

    def __enter__(self):
        self.prev = (_C.is_inference_mode_enabled(), _C.is_grad_enabled())
        _C._set_inference_mode(self.mode)
        _C._set_grad_enabled(not self.mode)

    def __exit__(self, exc_type, exc_value, traceback):
        inference, grad = self.prev
        _C._set_inference_mode(inference)
        _C._set_grad_enabled(grad)

    def _given(self):
        return (self.mode,)


__getattr__ = _absent_names(__name__)
