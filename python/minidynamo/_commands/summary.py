"""What `check` tells people: its findings, the worst first, and how the check ended."""

import collections

from .findings import OUTCOMES
from .printed import harmless

STYLES = (
    (r"^\S.*:\d+(?=  )", "bold"),
    (r"\bGB\d{4}\b", "bold cyan"),
    (r"  fails$", "bold red"),
    (r"^  Fix: ", "green"),
    (r"^    +\^+$", "red"),
    (r"^Check failed.*$", "bold red"),
    (r"^Check passed.*$", "bold green"),
    (r"^The program (was|ended).*$", "yellow"),
)
_MOST = 50  # findings that are shown
_NAMES = {
    "break": ("graph break", "graph breaks"),
    "limit": ("limit", "limits"),
    "error": ("internal error", "internal errors"),
    "recompile": ("recompilation", "recompilations"),
    "plain": ("function left plain", "functions left plain"),
    "skip": ("skipped function", "skipped functions"),
}


def _marked(finding):
    """The line, and what of it is meant."""
    text = finding.text.strip()
    if not text:
        return []
    lines = [f"    {harmless(text, 200)}"]
    if finding.column is not None and finding.end_line == finding.line and text.isascii() and len(text) <= 197:
        start = finding.column - (len(finding.text) - len(finding.text.lstrip()))
        length = finding.end_column - finding.column
        if start >= 0 and length > 0 and "\\x" not in text:
            lines.append("    " + " " * start + "^" * length)
    return lines


def _one(finding, places):
    code = "" if finding.rule == finding.kind else f"{finding.rule}  "
    times = "" if finding.times == 1 else f"  {finding.times} times"
    fails = "  fails" if finding.verdict == "fails" else ""
    where = harmless(places.shown(finding.file), 300)
    lines = [f"{where}:{finding.line}  {code}{finding.title}{times}{fails}", *_marked(finding)]
    told = [f"in {finding.function}"]
    if finding.outcome:
        told.append(OUTCOMES[finding.outcome])
    lines.append(f"  {'; '.join(told)}")
    if finding.explanation:
        lines.append(f"  {harmless(finding.explanation, 300)}")
    if finding.fix:
        lines.append(f"  Fix: {finding.fix}")
    return lines


def _counted(findings):
    counts = collections.Counter(f.kind for f in findings)
    return ", ".join(f"{number} {_NAMES[kind][number != 1]}" for kind, number in counts.items())


def _sum(checked):
    """What was found, in one sentence for each group."""
    groups = collections.defaultdict(list)
    for finding in checked.findings:
        groups[finding.verdict].append(finding)
    lines = []
    if groups["known"]:
        lines.append(f"Known by the baseline: {_counted(groups['known'])}.")
    if checked.stale:
        lines.append(f"Of the baseline {checked.stale} were not met; --write-baseline leaves them out.")
    if groups["elsewhere"]:
        lines.append(f"In files that do not count (installed, or left out): {_counted(groups['elsewhere'])}.")
    return lines


def text(checked):
    """The whole summary, with its last line first in importance at the end."""
    shown = [f for f in checked.findings if f.verdict in ("fails", "told")]
    shown.sort(key=lambda finding: finding.verdict != "fails")
    lines = [""] if shown else []
    for finding in shown[:_MOST]:
        lines += [*_one(finding, checked.places), ""]
    if len(shown) > _MOST:
        lines.append(f"... and {len(shown) - _MOST} more: --json - shows all.")
    lines += _sum(checked)
    lines += [note[:1].upper() + note[1:] + "." for note in checked.notes]
    if checked.ran.status:
        lines.append(checked.ending[:1].upper() + checked.ending[1:] + ".")
    if checked.too_many:
        lines.append(checked.too_many[:1].upper() + checked.too_many[1:] + ".")
    lines.append(verdict(checked))
    first = next((f.rule for f in shown if f.rule.startswith("GB")), None)
    if first:
        lines.append(f"Explained by: python -m minidynamo explain {first}")
    return "\n".join(lines)


def verdict(checked):
    """The outcome in one line."""
    failing = [f for f in checked.findings if f.verdict == "fails"]
    counted = _counted([f for f in checked.findings if f.verdict in ("fails", "told")]) or "nothing to report"
    if failing or checked.too_many:
        return f"Check failed: {_counted(failing) or 'too many graph breaks'} (--fail-on {checked.fail_on})."
    if checked.ran.status:
        return f"Check failed: the program did; otherwise {counted}."
    return f"Check passed: {counted}."
