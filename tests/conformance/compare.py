"""What a compiled run of a module has in common with the plain one."""

import fnmatch
import sys
import tomllib
from pathlib import Path

EXPLAINED = Path(__file__).with_name("differences.toml")


def explanations():
    """[(pattern of test ids, reason)] for the running Python; see differences.toml."""
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    rows = tomllib.loads(EXPLAINED.read_text(encoding="utf-8")).get("difference", [])
    return [(row["tests"], row["reason"]) for row in rows if version in row.get("versions", [version])]


class Comparison:
    """A plain and a compiled result of run_module."""

    def __init__(self, plain, compiled):
        self.plain, self.compiled = plain, compiled
        self.module, self.way = compiled["module"], compiled["way"]
        before, after = plain["tests"], compiled["tests"]
        self.tests = sorted({*before, *after})
        self.different = [t for t in self.tests if before.get(t) != after.get(t)]
        self.same = len(self.tests) - len(self.different)

    def reason(self, test):
        """Why the outcome may differ, or None."""
        for pattern, reason in explanations():
            if fnmatch.fnmatchcase(test, pattern):
                return reason
        return None

    def unexplained(self):
        """[(test, plain outcome, compiled outcome, detail)]."""
        rows = []
        for test in self.different:
            before, after = self.plain["tests"].get(test), self.compiled["tests"].get(test)
            if self.reason(test) is None:
                rows.append((test, before, after, self.compiled["details"].get(test, "")))
        return rows

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
