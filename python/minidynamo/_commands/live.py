"""Runs the programs of a code for real: what is said of their breaks, and how long their calls take."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_SECONDS = 60  # that a program may take
_TIMED = """
import contextlib, io, time
with contextlib.redirect_stdout(io.StringIO()), open({path!r}) as file:
    space = {{"__name__": "__main__"}}
    exec(compile(file.read(), {path!r}, "exec"), space)
    run, best, until = space["program"], float("inf"), time.perf_counter() + {seconds}
    while time.perf_counter() < until:
        start = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - start)
print(best)
"""


class Ran:
    """What a program printed, its exit status, and the events of its process, as dictionaries.

    `run`: who runs it, a new process or the one forked by `forked.Forks`.
    """

    def __init__(self, text, name, run=None):
        from .._events import folder

        with tempfile.TemporaryDirectory() as place:
            path = Path(place, f"{name}.py")
            path.write_text(text, encoding="utf-8")
            trace = os.path.join(place, "events")
            done = (run or process)([str(path)], MINIDYNAMO_TRACE=trace)
            self._place = place + os.sep
            self.output, self.errors = self._here(done.stdout), self._here(done.stderr)
            self.status = done.returncode
            files = sorted(os.listdir(trace)) if os.path.isdir(trace) else []
            events = [event for file in files for event in folder.read(os.path.join(trace, file))]
            self.events = json.loads(self._here(json.dumps(events)))

    def _here(self, text):
        """A text without the folder in which the program was."""
        return text.replace(self._place, "")

    def breaks(self, code=None):
        """Its break events, or those with one code."""
        return [e for e in self.events if e["kind"] == "break" and code in (None, e["code"])]

    def graphs(self):
        """The graphs it made, as code."""
        return [e["text"] for e in self.events if e["kind"] == "artifact" and e["name"] == "graph_code"]


def process(arguments, **environment):
    """Runs `python ARGUMENTS` with this package, and keeps what it writes."""
    package = str(Path(__file__).resolve().parents[2])
    paths = [package, *filter(None, [os.environ.get("PYTHONPATH")])]
    given = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment}
    try:
        return subprocess.run(
            [sys.executable, *arguments], env=given, capture_output=True, text=True, timeout=_SECONDS
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(arguments, 124, "", f"it ran for more than {_SECONDS} seconds")


def best_time(text, seconds=0.2, run=None):
    """The shortest of many calls of program(), compilations included, in seconds; None if it raises.

    The calls come one after the other in one process, so that the shortest ones compile nothing unless each does.
    """
    with tempfile.TemporaryDirectory() as place:
        path = Path(place, "program.py")
        path.write_text(text, encoding="utf-8")
        timed = Path(place, "timed.py")
        timed.write_text(_TIMED.format(path=str(path), seconds=seconds), encoding="utf-8")
        done = (run or process)([str(timed)])
    try:
        return float(done.stdout.strip().splitlines()[-1]) if done.returncode == 0 else None
    except (ValueError, IndexError):
        return None


def message_of(event):
    """What is said of a break: its text, then the program's stack."""
    from .._dynamo import message

    number = -1 if event["code"] is None else int(event["code"][2:])
    text = message.break_message(number, event["type"], event["context"], event["explanation"], event["hints"])
    stack = "".join(
        [
            f'  File "{os.path.basename(row["file"])}", line {row["line"]}, in {row["function"]}\n'
            for row in event["stack"]
        ]
    )
    return f"{text}\n\nfrom user code:\n{stack}".rstrip()
