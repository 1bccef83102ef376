"""Runs the programs of codes for their pages: what is said of their breaks, their graphs, what they print and take."""

import queue
import re
import threading

from .. import registry
from .._commands import forked, live
from .._dynamo import message
from ..registry import programs

_SECONDS = 0.05  # for which a program is called again and again
_ADDRESS = re.compile(r"\b0x[0-9a-f]{6,}\b")


class Run:
    """One program and what happened when it ran, as text that is the same on each day."""

    def __init__(self, text, ran, code):
        self.text = text
        self.status = ran.status
        self.output = _same_each_day(ran.output).rstrip()
        self.errors = _same_each_day(ran.errors).rstrip()
        self.graphs = [_code_of(_same_each_day(graph)) for graph in ran.graphs()]
        own = [event for event in ran.breaks() if event["code"] == code]
        self.breaks = [(event["code"], event["outcome"], _same_each_day(live.message_of(event))) for event in own]
        self.others = sorted({event["code"] for event in ran.breaks() if event["code"]} - {code})
        self.seconds = None


class Scenario:
    """The programs of a code, `shown` (None: there are none), and what became of them when they ran.

    `failures`: what did not go as it should; `elsewhere`: this Python does not raise the code.
    """

    def __init__(self, code):
        self.code, self.failures = code, []
        self.elsewhere = not registry.runs_here(registry.lookup(code)[0])
        self.shown, self.before, self.after = programs.pair(code), None, None

    def play(self, run, seconds):
        """Runs them by `run` (see live.process), if this Python raises the code."""
        shown = self.shown
        if shown is None or self.elsewhere:
            return
        self.before = Run(shown.before, live.Ran(shown.before, self.code, run), self.code)
        if shown.after is not None:
            self.after = Run(shown.after, live.Ran(shown.after, self.code, run), self.code)
        self._judge()
        for each in (self.before, self.after):
            if seconds and each and each.status == 0:
                each.seconds = live.best_time(each.text, seconds, run)

    def _judge(self):
        if not self.before.breaks:
            self.failures.append(f"the program did not break with {self.code}{_last_line(self.before)}")
        elif self.before.status < 0 or self.before.status == 124:
            self.failures.append(f"the program was killed{_last_line(self.before)}")
        if self.after and self.after.status:
            self.failures.append(f"the program without the break failed{_last_line(self.after)}")
        elif self.after and self.after.breaks:
            self.failures.append(f"the program without the break still has {self.code}")


def _last_line(run):
    last = run.errors.splitlines()[-1:] or [f"exit status {run.status}"]
    return f": {last[0].strip()}" if run.status else ""


def _same_each_day(text):
    """Without what differs from run to run or from place to place."""
    return _ADDRESS.sub("0x...", text.replace(message.PACKAGE, "minidynamo/"))


def _code_of(graph):
    """The code of a graph without its header."""
    import textwrap

    at = graph.find("def forward")
    text = textwrap.dedent("    " + graph[at:]).rstrip() if at >= 0 else graph
    return re.sub(r"^ +(# File: )", r"    \1", text, flags=re.MULTILINE)


def play_all(codes, jobs, timed=True, done=lambda code: None):
    """{code: Scenario}, `jobs` of them at a time; `done(code)` is called after each.

    A scenario whose run goes wrong in a way of its own is a failed one, and the rest goes on.
    """
    scenarios = {code: Scenario(code) for code in codes}
    waiting, ended, stop, at_work = queue.SimpleQueue(), queue.SimpleQueue(), threading.Event(), []
    for scenario in scenarios.values():
        waiting.put(scenario)
    threads = [
        threading.Thread(
            target=_work, args=(waiting, ended, stop, at_work, _SECONDS if timed else 0, done), daemon=True
        )
        for _ in range(min(jobs, len(scenarios)))
    ]
    running = 0  # join() of a thread takes it for ended once a signal has interrupted it
    try:
        for thread in threads:
            running += 1
            thread.start()
        while running:
            ended.get()
            running -= 1
    finally:
        stop.set()
        for forks in list(at_work):
            forks.stop()
        while running:
            ended.get()
            running -= 1
    return scenarios


def _work(waiting, ended, stop, at_work, seconds, done):
    """Plays scenarios until none is left. A process that one of them has ended is replaced."""
    try:
        while not (stop.is_set() or waiting.empty()):
            with forked.Forks() as forks:
                at_work.append(forks)
                while not stop.is_set() and forks.is_there():
                    try:
                        scenario = waiting.get_nowait()
                    except queue.Empty:
                        break
                    try:
                        scenario.play(forks.run, seconds)
                    except Exception as error:
                        scenario.failures.append(f"it could not be run: {type(error).__name__}: {error}")
                    done(scenario.code)
    finally:
        ended.put(None)
