"""The worker processes of one DataLoader as its parent sees them: started, asked, listened to, ended."""

import multiprocessing.connection
import os
import pickle
import signal
import time

from .worker import RESUME, parent_ends, worker_main

_PATIENCE = 5.0  # seconds a worker has to end by itself


def _start(context, arguments):
    ours, theirs = context.Pipe()
    parent_ends.add(ours)
    process = context.Process(target=worker_main, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    return process, ours


def _manner(process):
    """How a process has ended, in words."""
    process.join(1)
    code = process.exitcode
    if code is None:
        return "no longer answers"
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended early with exit code {code}"


class WorkerPool:
    """`num_workers` processes; closed by close(), and by the end of the process that has made it."""

    def __init__(self, context, make_fetcher, base_seed, num_workers, init_fn, timeout):
        self.timeout = timeout
        self._owner = os.getpid()
        self.processes, self._connections = [], []
        try:
            for worker in range(num_workers):
                process, ours = _start(context, (make_fetcher, base_seed, worker, num_workers, init_fn))
                self.processes.append(process)
                self._connections.append(ours)
        except BaseException:
            self.close()
            raise

    def ask(self, worker, task, index):
        """Sends a task; RuntimeError if the worker is gone."""
        self._send(worker, (task, index))

    def resume(self):
        """Tells all workers that an epoch begins."""
        for worker in range(len(self.processes)):
            self._send(worker, RESUME)

    def _send(self, worker, message):
        try:
            self._connections[worker].send(message)
        except (BrokenPipeError, ConnectionResetError) as error:
            self._lost(worker, error)

    def receive(self):
        """The next answers, in no order: a list of (worker, (task, kind, value)).

        RuntimeError for a worker that has died, and when nothing comes for `timeout` seconds (0: for ever).
        """
        ready = multiprocessing.connection.wait(self._connections, self.timeout or None)
        if not ready:
            self.close(patience=0)
            raise RuntimeError(f"no worker of the DataLoader has sent a batch for {self.timeout} seconds (timeout)")
        return [(worker, self._receive(worker)) for worker, c in enumerate(self._connections) if c in ready]

    def _receive(self, worker):
        try:
            data = self._connections[worker].recv_bytes()
        except (EOFError, ConnectionResetError) as error:
            self._lost(worker, error)
        return pickle.loads(data)

    def _lost(self, worker, error):
        process = self.processes[worker]
        text = f"worker process {worker} of the DataLoader (pid {process.pid}) {_manner(process)}"
        self.close()
        raise RuntimeError(text) from error

    def close(self, patience=_PATIENCE):
        """Ends all workers: those that do not follow soon are killed. Does nothing in a fork, or a second time."""
        if self._owner != os.getpid():
            return
        for connection in self._connections:
            connection.close()
        latest = time.monotonic() + patience
        for process in self.processes:
            process.join(max(0.0, latest - time.monotonic()))
        for process in self.processes:
            if process.is_alive():
                process.kill()
                process.join()
        self.processes, self._connections = [], []
