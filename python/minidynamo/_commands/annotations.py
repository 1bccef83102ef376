"""The findings of a check where code hosts show them: GitHub's commands for workflows, GitLab's Code Quality file."""

import json

from .printed import harmless

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}
_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def _data(text):
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text):
    return _data(str(text)).replace(":", "%3A").replace(",", "%2C")


def _is_shown(finding):
    """Findings that are known, or about code of others, are no news to who reads a change."""
    return finding.verdict in ("fails", "told")


def github(checked):
    """Lines that a workflow's log turns into annotations."""
    lines = []
    for finding in filter(_is_shown, checked.findings):
        path = checked.places.relative(finding.file)
        where = {}
        if path is not None:
            where = {"file": harmless(path), "line": finding.line}
            if finding.column is not None:
                where |= {"endLine": finding.end_line, "col": finding.column + 1}
                if finding.end_line == finding.line:
                    where["endColumn"] = finding.end_column + 1
        where["title"] = finding.title if finding.rule == finding.kind else f"{finding.rule} {finding.title}"
        said = [finding.explanation, *(f"Fix: {hint}" for hint in finding.hints[:1])]
        if path is None:
            said.insert(0, f"{checked.places.shown(finding.file)}:{finding.line}")
        properties = ",".join(f"{name}={_property(value)}" for name, value in where.items())
        lines.append(f"::{_COMMANDS[finding.level]} {properties}::{_data(harmless(chr(10).join(said), lines=True))}")
    if checked.too_many:
        lines.append(f"::error title=Too many graph breaks::{_data(checked.too_many)}")
    return "\n".join(lines)


def gitlab(checked):
    """A Code Quality report as text."""
    rows, seen = [], {}
    for finding in filter(_is_shown, checked.findings):
        path = checked.places.relative(finding.file)
        if path is None:  # it has no place in the project
            continue
        mark = finding.fingerprint(path)
        seen[mark] = seen.get(mark, 0) + 1
        rows.append(
            {
                "description": " ".join(filter(None, [f"{finding.title}.", finding.explanation, finding.fix])),
                "check_name": finding.rule,
                "fingerprint": mark if seen[mark] == 1 else f"{mark}{seen[mark]}",
                "severity": _SEVERITIES[finding.level],
                "location": {"path": harmless(path), "lines": {"begin": max(finding.line, 1)}},
            }
        )
    return json.dumps(rows, indent=1) + "\n"
