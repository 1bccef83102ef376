"""Which exceptions in our own code have nothing to do with what it does: signal handlers and other threads raise them
between any two instructions."""

import _signal
import sys

from .. import _C


def interrupts(error):
    """Whether a signal handler or another thread had it raised here."""
    return _is_from_signal_handler(error) or _is_set_by_a_thread(error) or _C._is_asynchronous(error.__traceback__)


def passes_through(codes, trace):
    """Whether a traceback goes through one of these code objects."""
    while trace is not None:
        if trace.tb_frame.f_code in codes:
            return True
        trace = trace.tb_next
    return False


def _is_set_by_a_thread(error):
    # PyThreadState_SetAsyncExc. Code of ours raises no class of the program.
    known = {*sys.stdlib_module_names, "numpy", __name__.partition(".")[0]}
    if error.__traceback__ is None or type(error).__module__.partition(".")[0] in known:
        return False
    trace = error.__traceback__
    while trace is not None and _is_of_modules(trace.tb_frame.f_globals, known):
        trace = trace.tb_next
    return trace is None


def _is_of_modules(namespace, known):
    # collections.namedtuple compiles `__new__` in a namespace of its own, called "namedtuple_<type's name>".
    name = namespace.get("__name__", "")
    return name.partition(".")[0] in known or name.startswith("namedtuple_")


def _is_from_signal_handler(error):
    handlers = [_signal.getsignal(number) for number in _signal.valid_signals()]
    calls = [getattr(h, "__func__", h if hasattr(h, "__code__") else type(h).__call__) for h in handlers if callable(h)]
    return passes_through({getattr(call, "__code__", None) for call in calls}, error.__traceback__)
