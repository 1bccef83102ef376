"""Runs one module of CPython's test suite and writes down the outcome of every test as it goes.

python outcomes.py test.test_x PROGRESS [DONE]: appends JSON lines to the file PROGRESS: {"start": id} when a test
begins, {"id", "outcome", "detail"} when it has ended, {"end": true} last. Tests whose ids are lines of the file DONE
are left out: a run that crashed goes on after the test it crashed in.
"""

import faulthandler
import json
import os
import random
import signal
import sys
import traceback
import unittest
from collections import Counter


class Outcomes(unittest.TestResult):
    """pass, fail, error, skip, xfail or upass for each test; failed subtests are counted in the detail."""

    def __init__(self, file):
        super().__init__()
        self.file = file
        self.times = Counter()
        self.current = None
        self.outcome = None

    def write(self, **line):
        os.write(self.file, (json.dumps(line) + "\n").encode())

    def startTest(self, test):
        super().startTest(test)
        self.current = numbered(test.id(), self.times)
        self.outcome = ("pass", "")
        self.write(start=self.current)

    def stopTest(self, test):
        super().stopTest(test)
        if self.current is None:  # 3.12.1 stops tests it has skipped without a start
            return
        self.write(id=self.current, outcome=self.outcome[0], detail=self.outcome[1])
        self.current = None

    def note(self, test, outcome, detail=""):
        if self.current is None:  # setUpClass and the like
            self.write(id=test.id(), outcome=outcome, detail=detail)
        else:
            self.outcome = (outcome, detail)

    def addError(self, test, err):
        self.note(test, "error", text_of(err))

    def addFailure(self, test, err):
        self.note(test, "fail", text_of(err))

    def addSkip(self, test, reason):
        self.note(test, "skip", reason)

    def addExpectedFailure(self, test, err):
        self.note(test, "xfail")

    def addUnexpectedSuccess(self, test):
        self.note(test, "upass")

    def addSubTest(self, test, subtest, err):
        if err is not None:
            kind = "fail" if issubclass(err[0], test.failureException) else "error"
            self.note(test, kind, f"{self.outcome[1]}[{subtest._subDescription()}] {text_of(err)}"[:4000])


def text_of(err):
    """The exception and where it came from, for who looks into a difference."""
    kind, value, tb = err
    lines = [f"{os.path.basename(f.filename)}:{f.lineno} {f.name}" for f in traceback.extract_tb(tb)[-6:]]
    try:
        message = str(value)
    except Exception as error:  # noqa: BLE001  a test's exception may have any __str__
        message = f"<str() raised {type(error).__name__}>"
    return f"{kind.__name__}: {message[:600]} ({' < '.join(reversed(lines))})"


def numbered(name, times):
    """Some suites have several tests of one id."""
    times[name] += 1
    return name if times[name] == 1 else f"{name} #{times[name]}"


def flat(suite):
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


def main(module, progress, done=None):
    finished = set()
    if done:
        with open(done, encoding="utf-8") as file:
            finished = set(file.read().split("\n"))
    from test import support

    support.use_resources = ()  # what `python -m test` runs by default
    support.verbose = 0
    result = Outcomes(os.open(progress, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644))
    try:
        tests = list(flat(unittest.defaultTestLoader.loadTestsFromName(module)))
    except unittest.SkipTest as skipped:
        result.write(id=module, outcome="skip", detail=str(skipped))
        tests = []
    suite, times = unittest.TestSuite(), Counter()
    for test in tests:
        name = numbered(test.id(), times)
        if name in finished:
            result.times[test.id()] += 1
        else:
            suite.addTest(test)
    random.seed(1)
    suite.run(result)
    result.write(end=True)


if __name__ == "__main__":
    # What runs in the background of a shell inherits Ctrl-C ignored; CPython's tests count on its exception.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    main(*sys.argv[1:])
