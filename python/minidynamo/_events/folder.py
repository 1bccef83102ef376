"""Events of a run as lines of JSON: a folder, with a file for each process."""

import atexit
import contextlib
import json
import linecache
import os
import sys
import time
from _thread import get_ident as event_thread
from json import encoder

from .kinds import as_json
from .stream import Event, subscribe

_LONGEST_SOURCE = 1 << 20  # characters of a text that has no file


def _line_maker():
    """A function from dictionaries to lines, in C: where every function in Python is compiled, none of it is ours."""
    if encoder.c_make_encoder is None:
        return lambda row: json.dumps(row, default=str) + "\n"
    ascii_text = encoder.encode_basestring_ascii
    make = encoder.c_make_encoder(None, str, ascii_text, None, ": ", ", ", False, False, True)
    return lambda row: "".join([*make(row, 0), "\n"])


_line = _line_maker()


class EventFile:
    """Writes every event as a line, at once: what was seen is there when a process is killed.

    A file that cannot be written any more (a full disk) is given up with a word on stderr; the program goes on.
    """

    def __init__(self, path, version, artifacts=()):
        self._version, self._forked = version, None
        self._open(path)
        self._subscription = subscribe(self.write, artifacts=artifacts)

    def _open(self, path):
        self._path, self._process = path, os.getpid()
        self._open_file()
        self._counts, self._batch, self._told = {}, None, set()
        self.started, self._time = self._forked or (time.perf_counter(), time.time())
        self._forked = None

    def _open_file(self):
        """A number, not an object that would close it: a program may close all files, and open its own under it."""
        self._out = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        self._identity = _identity(self._out)

    def note_fork(self):
        """In a forked child, whose file is opened with its first event: its time begins here."""
        self._forked = (time.perf_counter(), time.time())
        self.started = self._forked[0]

    def _follow_fork(self):
        """A process that was forked has a file of its own."""
        try:
            self._open(_path_in(os.path.dirname(self._path)))
        except OSError as error:
            return self._give_up(error)
        self.begin()

    def write(self, event):
        """Appends the event's line."""
        if self._out is not None and os.getpid() != self._process:
            self._follow_fork()
        if self._out is None:
            return
        self._tell_sources(event)
        self._counts[event.kind] = self._counts.get(event.kind, 0) + 1
        try:
            line = _line(as_json(event)).encode()
            batch = self._batch
            if batch is not None and batch[0] == event_thread():
                batch[1].append(line)
            else:
                self._write_all(line)
        except OSError as error:
            self._give_up(error)

    def _tell_sources(self, event):
        """Before an event names a file for the first time: its text, if no other process could read it (a cell)."""
        for file in [*[row["file"] for row in getattr(event, "stack", ())], getattr(event, "file", "")]:
            if file in self._told or not file:
                continue
            self._told.add(file)
            known = linecache.cache.get(file)
            if known and len(known) > 1 and known[1] is None and not os.path.isfile(file):
                self.write(Event("source", {"file": file, "text": "".join(known[2])[:_LONGEST_SOURCE]}))

    def _write_all(self, data):
        if _identity(self._out) != self._identity:
            self._open_file()
        while data:
            data = data[os.write(self._out, data) :]

    def _close(self):
        out, self._out = self._out, None
        if out is not None and _identity(out) == self._identity:
            os.close(out)

    @contextlib.contextmanager
    def batch(self):
        """What this thread emits inside is written at once, at the end."""
        lines = []
        self._batch = (event_thread(), lines)
        try:
            yield
        finally:
            self._batch = None
            try:
                if self._out is not None:
                    self._write_all(b"".join(lines))
            except OSError as error:
                self._give_up(error)

    def _give_up(self, error):
        self._subscription.remove()
        _complain(f"no more events are written to {self._path}: {error.strerror}")
        self._close()

    def begin(self):
        """The first line."""
        about = {"program": list(sys.argv), "python": sys.version.split()[0], "version": self._version}
        event = Event("run", {**about, "pid": self._process})
        event.time = self._time
        self.write(event)

    def end(self):
        """The last line; none from here on."""
        if self._out is None or os.getpid() != self._process:
            return
        counts = dict(self._counts)
        self.write(Event("end", {"seconds": time.perf_counter() - self.started, "counts": counts}))
        self._subscription.remove()
        self._close()


def _identity(descriptor):
    """Which file is open there; None if none is."""
    try:
        found = os.fstat(descriptor)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _complain(text):
    try:
        sys.stderr.write(f"minidynamo: {text}\n")
    except (AttributeError, OSError, ValueError):  # the program has none, or closed it
        pass


def _path_in(folder):
    return os.path.join(folder, f"minidynamo_{time.strftime('%Y%m%d_%H%M%S')}_{os.getpid()}.jsonl")


def write_to(folder, version, artifacts="graph_code"):
    """Begins a file in the folder, which is made if there is none; None, with a word on stderr, if it cannot be.

    `artifacts`: the names of the texts that are written as well, separated by commas.
    """
    try:
        os.makedirs(folder, exist_ok=True)
        named = [name.strip() for name in artifacts.split(",") if name.strip()]
        file = EventFile(_path_in(folder), version, named)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        _complain(f"no events are written to {folder}: {reason}")
        return None
    file.begin()
    atexit.register(file.end)
    return file


def read(path):
    """The events of a file as dictionaries; what a process that was killed or a full disk has cut off is left out."""
    with open(path, encoding="utf-8", errors="replace") as lines:
        for line in lines:
            try:
                event = json.loads(line)
            except ValueError:
                continue
            if isinstance(event, dict) and "kind" in event:
                yield event
