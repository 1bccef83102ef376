"""start_processes and spawn: a function in several processes, and what has become of them."""

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import tempfile
import traceback
import warnings

_PATIENCE = 30.0  # seconds a process has to follow SIGTERM


class ProcessException(Exception):
    """A process of start_processes() failed: its number, and its id."""

    def __init__(self, msg, error_index, pid):
        super().__init__(msg)
        self.msg, self.error_index, self.pid = msg, error_index, pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid)


class ProcessRaisedException(ProcessException):
    """The function raised: `msg` ends with the traceback in that process."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg, error_index, error_pid)
        self.error_pid = error_pid


class ProcessExitedException(ProcessException):
    """The process ended without raising: `exit_code`, and `signal_name` if a signal has ended it."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.error_pid, self.exit_code, self.signal_name = error_pid, exit_code, signal_name

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.pid, self.exit_code, self.signal_name)


def _run(function, index, args, error_file):
    """What each process does. A traceback goes to the file: a pipe might be full."""
    try:
        function(index, *args)
    except KeyboardInterrupt:
        pass  # the parent has it, too
    except Exception:  # noqa: BLE001  told to the parent
        with open(error_file, "wb") as file:
            pickle.dump(traceback.format_exc(), file)
        sys.exit(1)


class ProcessContext:
    """Processes that were started; join() waits for them."""

    def __init__(self, processes, error_files):
        self.processes, self.error_files = processes, error_files
        self.sentinels = {process.sentinel: index for index, process in enumerate(processes)}

    def pids(self):
        """Their process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits up to `timeout` seconds for a process to end. True once all have ended, else False.

        If one has failed the others are terminated, after `grace_period` seconds to end by themselves, and
        ProcessRaisedException or ProcessExitedException tells of it.
        """
        if not self.sentinels:
            return True
        failed = None
        for sentinel in multiprocessing.connection.wait(self.sentinels.keys(), timeout=timeout):
            index = self.sentinels.pop(sentinel)
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            self._forget_files(unless=bool(self.sentinels))
            return not self.sentinels
        self._end_others(grace_period)
        try:
            self._tell(failed)
        finally:
            self._forget_files(unless=False)

    def _end_others(self, grace_period):
        if grace_period:
            for process in self.processes:
                process.join(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(_PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()

    def _tell(self, index):
        process = self.processes[index]
        if os.path.getsize(self.error_files[index]):
            with open(self.error_files[index], "rb") as file:
                text = pickle.load(file)
            raise ProcessRaisedException(
                f"\n\n-- Process {index} terminated with the following error:\n{text}", index, process.pid
            )
        if process.exitcode < 0:
            name = signal.Signals(-process.exitcode).name
            text = f"process {index} terminated with signal {name}"
            raise ProcessExitedException(text, index, process.pid, process.exitcode, name)
        text = f"process {index} terminated with exit code {process.exitcode}"
        raise ProcessExitedException(text, index, process.pid, process.exitcode)

    def _forget_files(self, unless):
        for name in () if unless else self.error_files:
            if os.path.exists(name):
                os.unlink(name)


class SpawnContext(ProcessContext):
    """Processes started by spawn(); an older name."""

    def __init__(self, processes, error_files):
        warnings.warn("SpawnContext is ProcessContext now", DeprecationWarning, stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Calls fn(i, *args) in `nprocs` processes, i from 0. Waits for them with `join`, else gives a ProcessContext.

    If one fails, ProcessRaisedException or ProcessExitedException. ValueError for an unknown start method.
    """
    context = multiprocessing.get_context(start_method)
    processes, error_files = [], []
    for index in range(nprocs):
        handle, name = tempfile.mkstemp(prefix="minidynamo-", suffix=".error")
        os.close(handle)
        process = context.Process(target=_run, args=(fn, index, args, name), daemon=daemon)
        process.start()
        processes.append(process)
        error_files.append(name)
    started = ProcessContext(processes, error_files)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """start_processes() with the start method "spawn"; others warn."""
    if start_method != "spawn":
        warnings.warn(
            f"spawn() is for the start method 'spawn', got {start_method!r}; see start_processes()",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method)
