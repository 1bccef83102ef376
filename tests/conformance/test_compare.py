"""What counts as the same outcome: an excuse holds for the outcome it names and for no other, and goes
when it is idle.
"""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from compare import Comparison, Excuse, excuses  # noqa: E402
from supervise import UNITTEST, CpythonModule  # noqa: E402

TEST = "test.test_x.Case.test_counts"


def comparison(before, after, way="everything", **row):
    def result(way, outcome):
        return {"module": "test_x", "prefix": "test.test_x", "way": way, "tests": {TEST: outcome}, "details": {}}

    return Comparison(result("plain", before), result(way, after), [Excuse(TEST, "it counts", **row)])


def test_the_named_outcome_is_excused():
    c = comparison("pass", "fail")
    assert c.unexplained() == [] and c.stale() == [] and c.reason(TEST) == "it counts"
    assert comparison("pass", "error", outcome="error").unexplained() == []


@pytest.mark.parametrize("outcome", ["error", "skip", "crash (SIGSEGV)", "crash (exit 1)", "hang", "upass", None])
def test_another_outcome_is_not(outcome):
    c = comparison("pass", outcome)
    assert [(row[0], row[2]) for row in c.unexplained()] == [(TEST, outcome)]
    assert c.stale() == [TEST]


def test_a_test_that_fails_plainly_too_needs_no_excuse():
    assert comparison("fail", "fail").stale() == [TEST]
    assert comparison("fail", "pass").unexplained() != []


def test_an_idle_row_is_stale_where_it_applies():
    assert comparison("pass", "pass").stale() == [TEST]
    assert comparison("pass", "pass", sometimes=True).stale() == []
    assert comparison("pass", "pass", ways=["trace_more"]).stale() == []
    assert comparison("pass", "pass", way="trace_more", ways=["trace_more"]).stale() == [TEST]
    assert comparison("pass", "pass", versions=["2.7"]).stale() == []


def test_rows_are_about_one_module_or_package():
    for row in excuses():
        # One module of CPython's, "test.test_x.Class.test", or one file of a package, "package.tests/test_x.py::test".
        where = row.tests.partition("::")[0] if "::" in row.tests else ".".join(row.tests.split(".")[:2])
        assert row.tests.count(".") >= 2 and "*" not in where, row.tests
        assert row.reason and row.outcome


def test_frames_of_the_runner_are_not_counted():
    some, unittest_itself = CpythonModule("test_list"), CpythonModule("test_unittest")
    assert some.is_machinery(f"{UNITTEST}case.py") and not unittest_itself.is_machinery(f"{UNITTEST}case.py")
    assert not some.is_machinery(f"{UNITTEST.removesuffix('unittest/')}copy.py")
