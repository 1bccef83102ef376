"""torch.futures: results that are still to come, from threads or from callbacks of a program."""

import threading

from ._absent import absent_names as _absent_names

__all__ = ["Future", "collect_all", "wait_all"]


class Future:
    """A result that set_result() or set_exception() gives once; wait() waits for it."""

    def __init__(self, *, devices=None):
        if devices:
            raise ValueError("Future: results are on the CPU, and devices are those of accelerators")
        self._lock, self._event = threading.Lock(), threading.Event()
        self._value = self._error = None
        self._callbacks = []

    def __class_getitem__(cls, item):
        return cls

    def done(self):
        """Whether there is a result, or an exception."""
        return self._event.is_set()

    def wait(self):
        """The result, for which it waits; raises the exception that was set."""
        self._event.wait()
        return self.value()

    def value(self):
        """The result. RuntimeError before there is one; raises the exception that was set."""
        if not self._event.is_set():
            raise RuntimeError("Future: there is no result yet; wait() waits for one")
        if self._error is not None:
            raise self._error
        return self._value

    def _finish(self, value, error):
        with self._lock:
            if self._event.is_set():
                raise RuntimeError("Future already completed: a result is set once")
            self._value, self._error = value, error
            self._event.set()
            callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(self)

    def set_result(self, result):
        """The result; callbacks run in this thread. RuntimeError for a second one."""
        self._finish(result, None)

    def set_exception(self, result):
        """An exception in the place of a result."""
        if not isinstance(result, Exception):
            raise AssertionError(f"{result} is of type {type(result)}, not an Exception.")
        self._finish(None, result)

    def add_done_callback(self, callback):
        """`callback(future)` is called when there is a result, at once if there is one."""
        with self._lock:
            if not self._event.is_set():
                self._callbacks.append(callback)
                return
        callback(self)

    def then(self, callback):
        """A future of what `callback(this)` gives once there is a result."""
        made = Future()

        def run(future):
            try:
                made.set_result(callback(future))
            except Exception as error:  # noqa: BLE001  it is the result of the new one
                made.set_exception(error)

        self.add_done_callback(run)
        return made


def collect_all(futures):
    """A future of the list of these futures, done when all of them are."""
    made, futures, lock = Future(), list(futures), threading.Lock()
    left = [len(futures)]
    if not futures:
        made.set_result([])

    def one_less(future):
        with lock:
            left[0] -= 1
            last = left[0] == 0
        if last:
            made.set_result(futures)

    for future in futures:
        future.add_done_callback(one_less)
    return made


def wait_all(futures):
    """The results of all of them; raises the first exception."""
    return [future.wait() for future in collect_all(futures).wait()]


__getattr__ = _absent_names(__name__)
