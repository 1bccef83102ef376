"""A baseline: findings that are known, so that only new ones fail a check."""

import collections
import json


class BadBaseline(Exception):
    """The file is no baseline."""


def as_text(findings, places):
    """The file that makes these findings known: sorted, so that version control shows what changed."""
    counted = collections.Counter((_file(f, places), *f.key()) for f in findings)
    rows = [
        {"rule": rule, "file": file, "function": function, "text": text, "places": number}
        for (file, rule, function, text), number in sorted(counted.items())
    ]
    return json.dumps({"version": 1, "findings": rows}, indent=1) + "\n"


def _file(finding, places):
    from .printed import harmless

    return harmless(places.relative(finding.file) or finding.file)


def read(path):
    """{(file, rule, function, text): places}; BadBaseline or OSError."""
    with open(path, encoding="utf-8") as file:
        try:
            content = json.load(file)
            if content["version"] != 1:
                raise BadBaseline("it is of another version")
            return collections.Counter(
                {
                    (str(row["file"]), str(row["rule"]), str(row["function"]), str(row["text"])): int(row["places"])
                    for row in content["findings"]
                }
            )
        except (KeyError, TypeError, ValueError, RecursionError):
            raise BadBaseline("it is not a file that --write-baseline has written") from None


def mark_known(findings, known, places):
    """Sets the verdict of what is known; the number of known places that were not met.

    A finding is known by its rule, function and the text of its line: first in its own file, then, if a file was
    renamed, in any.
    """
    left = collections.Counter(known)
    others = []
    for finding in findings:
        key = (_file(finding, places), *finding.key())
        if left[key] > 0:
            left[key] -= 1
            finding.verdict = "known"
        else:
            others.append(finding)
    anywhere = collections.defaultdict(list)
    for key, number in left.items():
        anywhere[key[1:]] += [key] * max(number, 0)
    for finding in others:
        if same := anywhere[finding.key()]:
            left[same.pop()] -= 1
            finding.verdict = "known"
    return sum(number for number in left.values() if number > 0)
