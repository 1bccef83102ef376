"""Runs the tests of a package with pytest and writes down the outcome of each as it goes, in the format of outcomes.py.

python package_outcomes.py NAME PROGRESS DONE [argument of pytest ...]: ids are NAME.path::test; those in the file DONE
are left out.
"""

import faulthandler
import json
import os
import random
import re
import signal
import sys
from collections import Counter

import pytest

ADDRESS = re.compile(r"0x[0-9a-f]+")  # in an id that was made from an object's repr


class Outcomes:
    """A pytest plugin: pass, fail, error (outside of the test itself), skip, xfail or upass for each test."""

    def __init__(self, name, progress, done):
        self.name = name
        self.file = os.open(progress, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        with open(done, encoding="utf-8") as file:
            self.finished = set(file.read().split("\n"))
        self.ids, self.outcome = {}, ("pass", "")

    def write(self, **line):
        os.write(self.file, (json.dumps(line) + "\n").encode())

    def pytest_collection_modifyitems(self, items):
        same_examples()  # after a conftest.py that has loaded a profile of its own
        times, left = Counter(), []
        for item in items:
            name = f"{self.name}.{ADDRESS.sub('0x', item.nodeid)}"
            times[name] += 1
            self.ids[item.nodeid] = name if times[name] == 1 else f"{name} #{times[name]}"
            if self.ids[item.nodeid] not in self.finished:
                left.append(item)
        items[:] = left

    def pytest_collectreport(self, report):
        if report.failed:
            self.write(id=f"{self.name}.{report.nodeid}", outcome="error", detail=str(report.longrepr)[-2000:])

    def pytest_runtest_logstart(self, nodeid):
        self.outcome = ("pass", "")
        random.seed(1)
        self.write(start=self.ids[nodeid])

    def pytest_runtest_logreport(self, report):
        if report.skipped:
            self.outcome = ("xfail" if hasattr(report, "wasxfail") else "skip", "")
        elif report.failed:
            kind = "fail" if report.when == "call" else "error"
            self.outcome = (kind, str(report.longrepr)[-2000:])
        elif hasattr(report, "wasxfail"):
            self.outcome = ("upass", "")

    def pytest_runtest_logfinish(self, nodeid):
        self.write(id=self.ids[nodeid], outcome=self.outcome[0], detail=self.outcome[1])

    def pytest_sessionfinish(self):
        self.write(end=True)


def same_examples():
    """The examples of hypothesis are the same in every run, and may take longer than they do plain."""
    try:
        from hypothesis import HealthCheck, settings
    except ImportError:
        return
    settings.register_profile(
        "conformance", derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck)
    )
    settings.load_profile("conformance")


def main(name, progress, done, *arguments):
    pytest.main(["-q", "-p", "no:cacheprovider", *arguments], plugins=[Outcomes(name, progress, done)])


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    main(*sys.argv[1:])
