"""What the events of a program say against it: a finding for each place and cause, the worst first."""

import dataclasses
import functools
import hashlib

from .._dynamo.program_frames import resumed_function
from .printed import harmless

_LONGEST = 2000  # characters of a text that a program has made
_WORST_FIRST = ("error", "break", "limit", "recompile", "plain", "skip")
# What becomes of the function, by the outcome of its break.
OUTCOMES = {
    "raised": "an exception, because of fullgraph=True",
    "skipped": "the function runs as plain Python",
    "resumed": "a new graph goes on after it",
    "plain": "the function runs as plain Python",
}
_WORST_OUTCOMES = tuple(OUTCOMES)
KINDS = {
    "break": "a graph ends at something that cannot be in it",
    "limit": "a function was compiled as often as the settings allow",
    "error": "a defect of minidynamo",
    "recompile": "code that was there did not fit a call, and more was compiled",
    "plain": "a function runs as plain Python because an exception leaves it, or it is a generator or a coroutine",
    "skip": "a function runs as plain Python for another reason",
}


@dataclasses.dataclass
class Finding:
    """A cause at a place, and how often it was met. Texts of the program are harmless to show, paths are as given."""

    kind: str  # one of KINDS
    rule: str  # the code, or the kind where there is none
    title: str
    explanation: str
    file: str
    line: int
    function: str
    hints: tuple = ()
    context: str = ""
    area: str = ""
    outcome: str = ""  # of a break: one of OUTCOMES
    end_line: int | None = None
    column: int | None = None  # characters before it in its line
    end_column: int | None = None
    stack: list = dataclasses.field(default_factory=list)  # [(file, line, function)], outermost first
    text: str = ""  # the line
    times: int = 0
    own: bool = True  # the program's file, not an installed one
    verdict: str = "told"  # or "fails", "known" (by the baseline), "elsewhere" (a file that does not count)

    @property
    def fix(self):
        """One line."""
        return harmless(self.hints[0], 300) if self.hints else ""

    @property
    def level(self):
        """As SARIF names it."""
        if self.verdict == "fails":
            return "error"
        return "warning" if self.kind in ("break", "limit", "error") and self.verdict == "told" else "note"

    def key(self):
        """What tells it from others when lines have moved."""
        return (self.rule, self.function, " ".join(self.text.split()))

    def fingerprint(self, path):
        """The same in every run, wherever the line moves in its file."""
        joined = "\0".join((path, *self.key()))
        return hashlib.sha256(joined.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _plain_name(function):
    """The function of the program that a continuation is part of."""
    return harmless(resumed_function(function) or function, 200)


class _Reader:
    """Goes through the events of one process."""

    def __init__(self, places, found):
        self._places, self._found = places, found
        self._last = {}  # thread -> (break event, its finding), (limit event, its finding)

    def read(self, events):
        takers = {
            "break": self._break, "skip": self._skip, "limit": self._limit, "recompile": self._recompile,
            "internal_error": self._internal_error, "source": self._source,
        }  # fmt: skip
        for event in events:
            try:
                if take := takers.get(event["kind"]):
                    take(event)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError):  # a program wrote into the folder
                continue

    def _add(self, finding, *more):
        key = (finding.kind, finding.rule, finding.file, finding.line, finding.title, *more)
        known = self._found.setdefault(key, finding)
        known.times += 1
        if finding.outcome and _worse(finding.outcome, known.outcome):
            known.outcome = finding.outcome
        return known

    def _break(self, event):
        rows = [row for row in event["stack"] if isinstance(row["line"], int)]
        limit, limited = self._last.get(event["thread"], (None, None))
        if limited is not None and limited.kind == "limit" and event["outcome"] == "plain":  # said once already
            limited.stack = limited.stack or _stack(rows)
            if event["code"]:
                limited.rule = event["code"]
                limited.hints = limited.hints or tuple(harmless(hint, _LONGEST) for hint in event["hints"])
            self._last.pop(event["thread"])
            return
        own = [row for row in rows if self._places.is_own(row["file"])]
        row = own[-1] if own else rows[-1]
        code, outcome = event["code"], event["outcome"]
        finding = self._placed(
            Finding(
                kind="plain" if outcome == "plain" else "break",
                rule=harmless(code, 20) if code else "break",
                title=harmless(event["type"], 300),
                explanation=harmless(event["explanation"], _LONGEST),
                hints=tuple(harmless(hint, _LONGEST) for hint in event["hints"]),
                context=harmless(event["context"], _LONGEST),
                area=areas().get(code, ""),
                outcome=outcome if outcome in OUTCOMES else "resumed",
                file=row["file"],
                line=row["line"],
                function=_plain_name(row["function"]),
                stack=_stack(rows),
                own=bool(own),
            ),
            row,
        )
        self._last[event["thread"]] = (event, self._add(finding))

    def _placed(self, finding, row):
        file, places = finding.file, self._places
        finding.text = harmless(places.text(file, finding.line), _LONGEST)
        if row.get("column") is not None:
            finding.column = places.column(file, finding.line, row["column"])
            end = row.get("end_line") or finding.line
            finding.end_column = places.column(file, end, row.get("end_column"))
            finding.end_line = end
            if finding.column is None or finding.end_column is None:
                finding.column = finding.end_column = finding.end_line = None
        return finding

    def _of_function(self, event, **fields):
        file = event["file"]
        finding = Finding(
            file=file, line=max(event["line"], 1), function=_plain_name(event["function"]),
            own=self._places.is_own(file), **fields,
        )  # fmt: skip
        return self._placed(finding, {})

    def _skip(self, event):
        cause, finding = self._last.pop(event["thread"], (None, None))
        if cause is not None and finding.kind != "limit" and cause["compile_id"] == event["compile_id"]:
            return  # what came of the break before it
        reason = harmless(event["reason"], _LONGEST)
        title = f"Runs as plain Python: {harmless(event['reason'], 200)}"
        self._add(self._of_function(event, kind="skip", rule="skip", title=title, explanation=reason))

    def _limit(self, event):
        limit = harmless(event["limit"], 100)
        finding = self._of_function(
            event, kind="limit", rule="limit", title=f"Compiled too often ({limit})",
            explanation=f"config.{limit} is {int(event['value'])}: where no compiled code fits, the function runs as "
            f"plain Python. The assumption that failed last: {harmless(event['reason'], _LONGEST)}",
            area=areas().get("GB0039", ""),
        )  # fmt: skip
        self._last[event["thread"]] = (event, self._add(finding))

    def _recompile(self, event):
        place = harmless(event["place"], 200)
        old, new = harmless(event["old"], 200), harmless(event["new"], 200)
        finding = self._of_function(
            event, kind="recompile", rule="recompile", title=f"Compiled again: {place} changed",
            explanation=f"{place} was {old}, now {new}. The assumption that failed: {harmless(event['guard'], 500)}",
            hints=tuple(filter(None, [harmless(event["hint"], _LONGEST)])), stack=_stack(event["stack"]),
        )  # fmt: skip
        self._add(finding)

    def _source(self, event):
        self._places.give(event["file"], event["text"])

    def _internal_error(self, event):
        finding = self._of_function(
            event, kind="error", rule="error", title="Internal error",
            explanation="A defect of minidynamo, not of the program; the function runs as plain Python: "
            + harmless(event["error"], _LONGEST),
            hints=("Please report the program with what TORCHDYNAMO_VERBOSE=1 prints.",),
        )  # fmt: skip
        self._add(finding, finding.explanation)


def _worse(outcome, other):
    return not other or _WORST_OUTCOMES.index(outcome) < _WORST_OUTCOMES.index(other)


def _stack(rows):
    return [(row["file"], int(row["line"]), _plain_name(row["function"])) for row in rows]


@functools.cache
def areas():
    """{code: area}"""
    from .. import registry

    return {b.code: b.area for b in registry.all_breaks()}


def _rank(finding):
    outcome = _WORST_OUTCOMES.index(finding.outcome) if finding.outcome else 0
    kind = _WORST_FIRST.index(finding.kind)
    return (kind, outcome, -finding.times, finding.file, finding.line, finding.rule)


def gather(processes, places):
    """The findings in the events of all processes, the worst first."""
    found = {}
    for events in processes:
        _Reader(places, found).read(events)
    return sorted(found.values(), key=_rank)
