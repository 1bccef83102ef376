"""Runs many programs one after the other, each in a fork of one process that has imported the package: a program costs
some milliseconds instead of an interpreter's start.

This file is both sides: `Forks` asks, `python -m minidynamo._commands.forked` answers, a line of JSON each.
"""

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

_SECONDS = 60  # that a program may take
_SAME = {"TORCH_LOGS_FORMAT": "%(levelname)s: %(message)s"}


class Forks:
    """A process whose forks run programs. `run` takes and gives what live.process does.

    Sets have the same order in each of them, and logs no times, so that a program prints the same on each day. One
    thread may use it.
    """

    def __init__(self, seconds=_SECONDS):
        self._seconds, self._is_there = seconds, True
        paths = [str(Path(__file__).resolve().parents[2]), *filter(None, [os.environ.get("PYTHONPATH")])]
        given = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONHASHSEED": "0", **_SAME}
        self._place = tempfile.TemporaryDirectory()
        self._server = subprocess.Popen(
            [sys.executable, "-m", __name__], env=given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            start_new_session=True,
        )  # fmt: skip

    def run(self, arguments, **environment):
        """Runs a file with its arguments, as `python ARGUMENTS` would."""
        files = [os.path.join(self._place.name, name) for name in ("out", "err")]
        asked = {"arguments": arguments, "environment": environment, "files": files, "seconds": self._seconds}
        try:
            self._server.stdin.write(json.dumps(asked) + "\n")
            self._server.stdin.flush()
            status = json.loads(self._server.stdout.readline())
        except (OSError, ValueError) as error:
            self._is_there = False
            raise RuntimeError("the process that runs programs has ended") from error
        out, err = [Path(file).read_text(encoding="utf-8", errors="replace") for file in files]
        if status is None:
            status, err = 124, f"it ran for more than {self._seconds} seconds"
        return subprocess.CompletedProcess(arguments, status, out, err)

    def is_there(self):
        """Whether the process still answers."""
        return self._is_there

    def stop(self):
        """Ends the process and the program that it runs; another thread may call it. `run` raises RuntimeError."""
        self._server.terminate()

    def close(self):
        """The same, and takes away what it has written."""
        self.stop()
        # A signal that comes just before the process begins to read is seen after it: then what it reads ends.
        for stream in (self._server.stdin, self._server.stdout):
            try:
                stream.close()
            except OSError:
                pass  # what was not yet sent has nobody to go to
        self._server.wait()
        self._place.cleanup()

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.close()


# ---- the other side ----------------------------------------------------------------------------------------------


def _be(arguments, environment, files):
    """In the fork: the program itself. Never returns."""
    import atexit
    import types

    from .. import __version__, _events

    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    for number, file in zip((1, 2), files):
        os.dup2(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    os.environ.update(environment)
    _events.from_environment(__version__)
    sys.argv = list(arguments)
    sys.path[0] = os.path.dirname(arguments[0])
    sys.modules["__main__"] = main = types.ModuleType("__main__")
    main.__file__ = arguments[0]
    status = 0
    try:
        with open(arguments[0], encoding="utf-8") as file:
            code = compile(file.read(), arguments[0], "exec")
        exec(code, main.__dict__)
    except SystemExit as exit:
        status = exit.code if isinstance(exit.code, int) else int(exit.code is not None)
        if status and exit.code is not status:
            print(exit.code, file=sys.stderr)
    except BaseException as error:
        status = 1
        own = error.__traceback__ and error.__traceback__.tb_next  # without the frame of this function
        sys.excepthook(type(error), error.with_traceback(own), own)
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    os._exit(status & 0xFF)


def _status_of(pid, seconds):
    """The exit status of the fork, as subprocess tells it; None: it took too long and was killed."""
    handle = os.pidfd_open(pid)
    ended = select.select([handle], [], [], seconds)[0]
    os.close(handle)
    if not ended:
        _kill(pid)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return status if ended else None


def _kill(pid):
    """The fork and what it has started."""
    for kill in (os.killpg, os.kill):  # it may not lead its group yet
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass


def _serve():
    import minidynamo  # noqa: F401 - the forks have it

    pid = 0

    def stop(number, frame):
        if pid:
            _kill(pid)
        os._exit(0)

    signal.signal(signal.SIGTERM, stop)
    for line in sys.stdin:
        asked = json.loads(line)
        pid = os.fork()
        if not pid:
            try:
                _be(asked["arguments"], asked["environment"], asked["files"])
            finally:
                os._exit(70)
        status = _status_of(pid, asked["seconds"])
        pid = 0
        print(json.dumps(status), flush=True)


if __name__ == "__main__":
    _serve()
