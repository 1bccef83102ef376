"""A program in a process of its own, and the events of all its processes: what `check` and `report` stand on."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from .._events import folder


class Watched:
    """How a program ended, and what was seen of it.

    `status`: its exit status, as a shell gives it (128 + the signal that killed it); `signal`: that signal's name, or
    None; `seconds`: how long it ran; `processes`: the events of each process that wrote some, as dictionaries, the
    program's own first, whose number is `pid`.
    """

    def __init__(self, status, seconds, processes, pid=None):
        self.seconds, self.processes, self.pid = seconds, processes, pid
        self.signal = signal.Signals(-status).name if status < 0 else None
        self.status = 128 - status if status < 0 else status

    @property
    def has_no_end(self):
        """Whether the program's own record stops without having ended: by os._exit, a signal, or a full disk."""
        first = self.processes[0] if self.processes else []
        return bool(first) and first[0].get("pid") == self.pid and first[-1]["kind"] != "end"

    @property
    def events(self):
        """Those of all processes, one process after the other."""
        return [event for events in self.processes for event in events]


def run(arguments, into, *, artifacts=("graph_code",), **environment):
    """Runs `python ARGUMENTS` with the standard streams of this process; its events go into the folder `into`.

    It sees what the terminal sends, Ctrl-C too; this process waits for it to end, however it does. Signals that this
    process gets (SIGTERM, SIGHUP, SIGUSR1, SIGUSR2; SIGINT and SIGQUIT where there is no terminal that sends them to
    both) are handed on to it. Processes it has started and left running are not waited for. What the program, or who
    started this process, makes of MINIDYNAMO_TRACE is left alone.
    """
    given = {**os.environ, "MINIDYNAMO_WATCH": str(into), "MINIDYNAMO_WATCH_ARTIFACTS": ",".join(artifacts)}
    paths = [*_package_path(), *filter(None, [given.get("PYTHONPATH")])]
    given |= {**({"PYTHONPATH": os.pathsep.join(paths)} if paths else {}), **environment}
    options = subprocess._args_from_interpreter_flags()  # -O, -W, -X, ... of this process
    command = [sys.executable, *options, *arguments]
    start = time.perf_counter()
    with _signals_handed_on() as handed_on:
        program = handed_on.program = subprocess.Popen(command, env=given)
        status = program.wait()
    return Watched(status, time.perf_counter() - start, _processes(into, program.pid), program.pid)


def _package_path():
    """Where this package lies, unless Python looks there anyway: what is installed must not hide Python's library."""
    place = Path(__file__).resolve().parents[2]
    return [] if place.name in ("site-packages", "dist-packages") else [str(place)]


class _signals_handed_on:
    """While it is entered, signals that ask to end or to do something go to the `program` instead of this process."""

    _ASKING = (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)
    _KEYS = (signal.SIGINT, signal.SIGQUIT)  # a terminal sends them to the program as well

    def __init__(self):
        self.program, self._before = None, {}
        self._handed_on = self._ASKING if _has_terminal() else (*self._ASKING, *self._KEYS)

    def _take(self, number, frame):
        if self.program is not None and number in self._handed_on:
            self.program.send_signal(number)

    def __enter__(self):
        for number in (*self._ASKING, *self._KEYS):
            self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *exc):
        for number, handler in self._before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _has_terminal():
    """Whether a terminal sends Ctrl-C to this process and the program alike."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def _processes(place, first):
    """The events of each file, those of the process `first` before the others."""
    files = sorted(Path(place).glob("*.jsonl")) if os.path.isdir(place) else []
    read = [list(folder.read(file)) for file in files]
    read = [events for events in read if events and all(isinstance(event.get("time"), float) for event in events)]
    return sorted(read, key=lambda events: (events[0].get("pid") != first, events[0]["time"]))
