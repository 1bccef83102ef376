"""What a compiled run of a suite has in common with the plain one."""

import fnmatch
import sys
import tomllib
from pathlib import Path

EXPLAINED = Path(__file__).with_name("differences.toml")


class Excuse:
    """A row of differences.toml."""

    def __init__(self, tests, reason, outcome="fail", versions=(), ways=(), sometimes=False):
        self.tests, self.reason, self.outcome = tests, reason, outcome
        self.versions, self.ways, self.sometimes = versions, ways, sometimes

    def is_about(self, suite, way, version):
        """Whether it says something of the tests of a module or package, run in one way on one Python."""
        here = self.tests.startswith(f"{suite}.") and version in (self.versions or [version])
        return here and way in (self.ways or [way])

    def names(self, test):
        return fnmatch.fnmatchcase(test, self.tests)

    def covers(self, test, before, after):
        return self.names(test) and (before, after) == ("pass", self.outcome)


def excuses(path=EXPLAINED):
    return [Excuse(**row) for row in tomllib.loads(path.read_text(encoding="utf-8")).get("difference", [])]


class Comparison:
    """A plain and a compiled result of run_suite."""

    def __init__(self, plain, compiled, known=None):
        self.plain, self.compiled = plain, compiled
        self.module, self.way = compiled["module"], compiled["way"]
        before, after = plain["tests"], compiled["tests"]
        self.tests = sorted({*before, *after})
        self.different = [t for t in self.tests if before.get(t) != after.get(t)]
        self.same = len(self.tests) - len(self.different)
        suite, version = compiled["prefix"], f"{sys.version_info[0]}.{sys.version_info[1]}"
        known = excuses() if known is None else known
        self.excuses = [row for row in known if row.is_about(suite, self.way, version)]

    def outcomes(self, test):
        return self.plain["tests"].get(test), self.compiled["tests"].get(test)

    def reason(self, test):
        """Why the outcomes differ as they do, or None."""
        return next((row.reason for row in self.excuses if row.covers(test, *self.outcomes(test))), None)

    def unexplained(self):
        """[(test, plain outcome, compiled outcome, detail)]."""
        found = [test for test in self.different if self.reason(test) is None]
        return [(test, *self.outcomes(test), self.compiled["details"].get(test, "")) for test in found]

    def stale(self):
        """Rows of differences.toml about these tests that excuse nothing."""
        used = [row for row in self.excuses if any(row.covers(t, *self.outcomes(t)) for t in self.different)]
        return [row.tests for row in self.excuses if row not in used and not row.sometimes]

    def share(self, *ends, of="frames"):
        """Which part of the calls ("frames") or of the functions that ran ended like this."""
        counts = self.compiled[of]
        return sum(counts.get(end, 0) for end in ends) / max(1, sum(counts.values()))

    def has_run(self):
        """A module whose frames were all skipped has shown nothing."""
        return self.share("whole", "partly") > 0

    def codes(self, most=6):
        """The graph-break codes of the traces and the reasons of plain frames, most frequent first, as text."""
        breaks = ", ".join(f"{code} {n}" for code, n in list(self.compiled["breaks"].items())[:most])
        skips = ", ".join(f"{reason} {n}" for reason, n in list(self.compiled["skips"].items())[:most])
        return breaks, skips

    def line(self):
        shares = f"whole {self.share('whole'):.1%}, at least partly {self.share('whole', 'partly'):.1%}"
        return (
            f"{self.module} {self.way}: {self.same} of {len(self.tests)} outcomes the same; frames {shares}; "
            f"{self.compiled['seconds']} s"
        )
