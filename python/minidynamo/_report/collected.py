"""Events of all processes of a run, sorted by what they tell. Nothing is computed here."""

from collections import defaultdict

from .._dynamo.program_frames import RESUME
from .._events.kinds import KINDS

_COST_KEY = ("of", "name", "function", "file", "line", "column", "compile_id", "state")


_DEFAULTS = {"string": "", "integer": 0, "number": 0.0, "boolean": False, "array": [], "object": {}}
_TYPES = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list, "object": dict}


def _complete(event):
    """The event with every field of its kind: what is missing, or is something else, is as good as nothing."""
    fields = {"time": "number", "compile_id": "string"}
    for name, (type_, _) in KINDS.get(event["kind"], ("", {}))[1].items():
        fields[name] = "string" if "enum" in type_ else type_.get("type")
    made = dict(event)
    for name, type_ in fields.items():
        if type_ in _TYPES and not isinstance(made.get(name), _TYPES[type_]):
            made[name] = _DEFAULTS[type_]
    if event["kind"] == "break" and not isinstance(made.get("code"), str):
        made["code"] = None
    for name, value in made.items():
        if isinstance(value, list) and name != "stack":
            made[name] = [each if isinstance(each, str) else str(each) for each in value]
    if isinstance(made.get("stack"), list):
        made["stack"] = [_frame(each) for each in made["stack"] if _is_frame(each)]
    return made


def _frame(row):
    """The frame without its columns where they are no numbers."""
    places = [row.get(name, 0) for name in ("end_line", "column", "end_column")]
    if all(isinstance(each, int) for each in places):
        return row
    return {name: row[name] for name in ("file", "line", "function")}


def _is_frame(frame):
    return (
        isinstance(frame, dict) and isinstance(frame.get("line"), int)
        and isinstance(frame.get("file"), str) and isinstance(frame.get("function"), str)
    )  # fmt: skip


def root_of(function):
    """The function a resume function goes on with, and the line; (the name itself, None) of any other."""
    found = RESUME.match(function)
    return (found[1], int(found[2])) if found else (function, None)


def entry_of(compile_id):
    """ "0/1" of "0/1_2", which is its third attempt."""
    return compile_id.partition("_")[0]


class Collected:
    """Lists of events by kind, each with `process` (a number) added; costs as their last state.

    `artifacts`: {(process, entry): {name: [text, ...]}}, of the last attempt at that entry.
    """

    def __init__(self, processes):
        self.by_kind, self.processes = defaultdict(list), []
        self.artifacts, self.costs = defaultdict(lambda: defaultdict(list)), []
        self._attempts = {}
        for number, given in enumerate(processes):
            costs, events = {}, [_complete(event) for event in given]
            for event in events:
                self._add(number, event, costs)
            self.costs += costs.values()
            self.processes.append(events)

    def _add(self, number, event, costs):
        kind = event["kind"]
        if kind == "artifact":
            return self._add_artifact(number, event)
        if kind == "cost":
            costs[tuple(event.get(name, "") for name in _COST_KEY)] = {**event, "process": number}
            return None
        if kind == "cost_summary":
            self.by_kind[kind] = [each for each in self.by_kind[kind] if each["process"] != number]
        self.by_kind[kind].append({**event, "process": number})
        return None

    def _add_artifact(self, number, event):
        attempt = event.get("compile_id", "")
        key = (number, entry_of(attempt))
        if self._attempts.setdefault(key, attempt) != attempt:  # what an attempt before this one has told is void
            self.artifacts.pop(key, None)
            self._attempts[key] = attempt
        self.artifacts[key][event.get("name", "")].append(event.get("text", ""))

    def costs_of(self, of):
        """The costs of one sort."""
        return [row for row in self.costs if row.get("of") == of]

    def has_costs(self):
        """Whether times were measured while it ran."""
        return bool(self.costs or self.by_kind["cost_summary"])
