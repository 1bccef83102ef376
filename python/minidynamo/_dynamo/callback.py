"""torch._dynamo.callback: functions of the program that are called before and after a compilation."""

import collections
import contextlib
import enum
import logging
import threading

from .. import _events
from .._absent import absent_names as _absent_names
from .._lock import process_lock
from .exc import InternalTorchDynamoError


class CallbackTrigger(enum.Enum):
    """What a compilation is due to. Of these only DYNAMO, a call of a compiled function, is reported here."""

    DYNAMO = 1
    LAZY_BACKWARD = 2
    TRITON_AUTOTUNING = 3
    CUDAGRAPH_RECORDING = 4


CallbackArgs = collections.namedtuple("CallbackArgs", "callback_trigger compile_id")
CallbackArgs.__doc__ = """What callbacks get: a CallbackTrigger, and the compilation as logs name it ("0/1")."""


class CompilationCallbackHandler:
    """Keeps the callbacks. Of compilations that run inside of others, or beside them, only the outermost is reported.

    An exception of a start callback ends the compilation with InternalTorchDynamoError; an end callback's is logged.
    """

    def __init__(self):
        self.start_callbacks = []
        self.end_callbacks = []
        self._running = 0
        self._lock = process_lock()

    def register_start_callback(self, callback):
        """`callback(args)` is called before compilations; a decorator as well."""
        self.start_callbacks.append(callback)
        return callback

    def register_end_callback(self, callback):
        """`callback(args)` is called after compilations, whatever came of them; a decorator as well."""
        self.end_callbacks.append(callback)
        return callback

    def remove_start_callback(self, callback):
        """ValueError if it is not registered."""
        self.start_callbacks.remove(callback)

    def remove_end_callback(self, callback):
        """ValueError if it is not registered."""
        self.end_callbacks.remove(callback)

    def run_start_callbacks(self, args):
        for callback in list(self.start_callbacks):
            callback(args)

    def run_end_callbacks(self, args):
        for callback in list(self.end_callbacks):
            callback(args)

    @contextlib.contextmanager
    def install_callbacks(self, trigger, compile_id):
        """The block counts as a compilation."""
        args = CallbackArgs(trigger, compile_id)
        self.enter(args)
        try:
            yield
        finally:
            self.leave(args)

    def enter(self, args):
        if self._counted(1) == 1:
            self.run_start_callbacks(args)

    def leave(self, args):
        if self._counted(-1) == 0:
            self.run_end_callbacks(args)

    def _counted(self, change):
        with self._lock:
            self._running += change
            return self._running

    def clear(self):
        """Forgets all callbacks."""
        self.start_callbacks.clear()
        self.end_callbacks.clear()


callback_handler = CompilationCallbackHandler()


def on_compile_start(callback):
    """Decorator: the function is called with CallbackArgs before compilations."""
    return callback_handler.register_start_callback(callback)


def on_compile_end(callback):
    """Decorator: the function is called with CallbackArgs after compilations."""
    return callback_handler.register_end_callback(callback)


_under_way = threading.local()  # .args: what was reported of compilations that have begun in this thread
_log = logging.getLogger(__name__)


@_events.stand_at("compile_begin")
def _on_compile_begin(event):
    if not (callback_handler.start_callbacks or callback_handler.end_callbacks):
        return
    args = CallbackArgs(CallbackTrigger.DYNAMO, event.compile_id)
    _under_way.__dict__.setdefault("args", []).append(args)
    try:
        callback_handler.enter(args)
    except Exception as error:
        raise InternalTorchDynamoError(f"{type(error).__name__}: {error}") from error


@_events.stand_at("compile_end")
def _on_compile_end(event):
    begun = _under_way.__dict__.get("args")
    if not begun:
        return
    try:
        callback_handler.leave(begun.pop())
    except Exception:  # noqa: BLE001  the code is there and will be used
        _log.exception("A callback registered for the end of compilations failed")


__getattr__ = _absent_names(__name__)
