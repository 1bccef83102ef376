"""The model of a report: plain dictionaries and lists, which `--json` writes and the page shows."""

import os
from collections import Counter

from .. import _C
from .._dynamo.program_frames import RESUME
from . import advice, entries, timeline
from .collected import Collected, entry_of, root_of
from .places import Sources, short

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_VALUES = 12
_LIMIT_CODE = "GB0039"  # told by `limit` as well


class Run:
    """How the program ended: its command, exit status, the signal that killed it, how long it ran. None: not known."""

    def __init__(self, command=None, status=None, signal=None, seconds=None):
        self.command, self.status, self.signal, self.seconds = command, status, signal, seconds


def model(processes, run=None):
    """What there is to say of the events of these processes, each a list of dictionaries."""
    return _Builder(Collected(processes), run or Run()).build()


def _own(row):
    return row.get("own_seconds", row.get("seconds", 0.0))


def _hint(event):
    """The way out, said for a reader who sees nothing but the report."""
    hint = event["hint"]
    if "___stack" in hint:  # a value without a name
        return "It is what a break hands on: mend that break, or compile with `torch.compile(..., dynamic=True)`."
    if "mark_dynamic(" in hint:
        after = " (what a break hands on cannot be marked)" if RESUME.match(event["function"]) else ""
        return f"Compile with `torch.compile(..., dynamic=True)`, or mark the tensor that is passed in{after}: {hint}."
    return hint if "dynamic=False" in hint else hint.replace("dynamic=True", "`torch.compile(..., dynamic=True)`")


class _Builder:
    def __init__(self, collected, run):
        self.events, self.run = collected, run
        begun = [event["time"] for event in self._of("run") if event["time"]]
        self.sources = Sources(min(begun) if begun else None)
        for event in self._of("source"):
            self.sources.given(event["file"], event["text"])
        self.functions, self.breaks, self.recompiles = {}, {}, {}
        self.compile_seconds = {}
        self.inlined = set()  # entries that end at a break of a function they have inlined

    def _of(self, kind):
        return self.events.by_kind[kind]

    def build(self):
        found = entries.entries(self.events, self.sources)
        self._compilations()
        self._breaks(found)
        self._recompiles()
        self._plain()
        self._costs()
        made = {
            "version": 1,
            "program": self._program(),
            "functions": self._ranked(),
            "breaks": self._sorted_breaks(),
            "recompiles": sorted(self.recompiles.values(), key=lambda r: (-r["seconds"], -r["times"])),
            "entries": found,
            "kernels": entries.kernels(self.events, found),
            "ops": self._ops(),
            "timeline": timeline.timeline(self.events),
            "processes": self._processes(),
            "has_costs": self.events.has_costs(),
            "sources": {event["file"]: event["text"] for event in self._of("source")},
        }
        made["totals"] = self._totals(made)
        made["first"] = advice.first(made)
        return made

    # ---- functions -----------------------------------------------------------------------------------------------

    def _function(self, file, line, name):
        root = root_of(name)[0]
        key = (file, line)
        if key not in self.functions:
            self.functions[key] = {
                "name": root, "file": file, "line": line, "short": short(file), "compilations": 0, "calls": 0,
                "compile_seconds": 0.0, "recompile_seconds": 0.0, "break_seconds": 0.0, "plain_seconds": 0.0,
                "compiled_seconds": 0.0, "guard_seconds": 0.0,
                "plain_calls": 0, "breaks": [], "recompiles": [], "limits": [], "skips": [],
                "errors": [], "note": self.sources.note(file),
            }  # fmt: skip
        return self.functions[key]

    def _function_around(self, file, line, name):
        """The function that holds a line; where its first line is not to be found, one of that name, or a new one."""
        around = self.sources.function_at(file, line)
        if around is not None:
            return self._function(file, around[0], around[2])
        root = root_of(name)[0]
        known = [f for f in self.functions.values() if f["file"] == file and f["name"] == root and f["line"] <= line]
        return max(known, key=lambda f: f["line"]) if known else self._function(file, 0, root)

    def _compilations(self):
        for event in self._of("compile"):
            row = self._function(event["file"], event["line"], event["function"])
            row["compilations"] += 1
            row["recompile_seconds" if event.get("entry", 0) else "compile_seconds"] += event["seconds"]
            self.compile_seconds[event["process"], entry_of(event["compile_id"])] = event["seconds"]

    def _plain(self):
        for event in self._of("skip"):  # of what follows a break the line is not the function's first
            resumed = root_of(event["function"])[1] is not None
            find = self._function_around if resumed else self._function
            row = find(event["file"], event["line"], event["function"])
            if event["reason"] not in row["skips"]:
                row["skips"].append(event["reason"])
        for event in self._of("internal_error"):
            row = self._function(event["file"], event["line"], event["function"])
            if event["error"] not in row["errors"]:
                row["errors"].append(event["error"])
        for event in self._of("limit"):
            row = self._function(event["file"], event["line"], event["function"])
            limit = {"limit": event["limit"], "value": event["value"], "reason": event["reason"]}
            if limit not in row["limits"]:
                row["limits"].append(limit)

    # ---- breaks --------------------------------------------------------------------------------------------------

    def _breaks(self, found):
        graphs = {}  # {(process, entry): ids of what was compiled with a graph}
        resumes = {}
        for entry in found:
            graphs.setdefault((entry["process"], entry["compile_id"]), entry["id"])
            if entry["resume"]:
                root, at = root_of(entry["resume"]["function"])
                resumes.setdefault((entry["process"], entry["resume"]["file"], root, at), entry["id"])
        for event in self._of("break"):
            if event["outcome"] == "plain" and event["code"] == _LIMIT_CODE:
                continue
            where = event["stack"][-1] if event["stack"] else {"file": "", "line": 0, "function": "?"}
            key = (event["code"], event["type"], where["file"], where["line"], where.get("column", -1))
            row = self.breaks.get(key)
            if row is None:
                row = self.breaks[key] = self._new_break(event, where)
            if len(event["stack"]) > 1:
                self.inlined.add((event["process"], entry_of(event["compile_id"])))
            row["traces"] += 1
            row["outcomes"][event["outcome"]] += 1
            outer = event["stack"][0] if event["stack"] else where
            before = graphs.get((event["process"], entry_of(event.get("compile_id", ""))))
            after = resumes.get((event["process"], outer["file"], root_of(outer["function"])[0], outer["line"]))
            for name, value in (("before", before), ("after", after)):
                if value is not None and value not in row[name]:
                    row[name].append(value)

    def _new_break(self, event, where):
        owner = self._function_around(where["file"], where["line"], where["function"])
        stack = []
        for frame in event["stack"]:
            before, executed, after = self.sources.executed(frame)
            stack.append(
                {**frame, "function": root_of(frame["function"])[0], "short": short(frame["file"]), "before": before,
                 "executed": executed, "after": after}
            )  # fmt: skip
        row = {
            "code": event["code"], "title": event["type"], "context": event["context"],
            "explanation": event["explanation"], "hints": list(event["hints"]), "file": where["file"],
            "line": where["line"], "column": where.get("column", -1), "short": short(where["file"]),
            "function": owner["name"], "stack": stack, "outcomes": Counter(), "traces": 0, "runs": 0,
            "outer_runs": 0, "seconds": 0.0,
            "own_seconds": 0.0, "before": [], "after": [], "id": f"break-{len(self.breaks) + 1}",
        }  # fmt: skip
        owner["breaks"].append(row["id"])
        return row

    # ---- recompilations ------------------------------------------------------------------------------------------

    def _recompiles(self):
        for event in self._of("recompile"):
            key = (event["file"], event["line"], event["place"] or event["guard"], event["guard_kind"])
            owner = self._function(event["file"], event["line"], event["function"])
            if key not in self.recompiles:
                stack = [{**f, "short": short(f["file"]), "text": self.sources.line(f["file"], f["line"]).strip(),
                          "function": root_of(f["function"])[0]} for f in event["stack"]]  # fmt: skip
                row = {
                    "place": event["place"], "guard": event["guard"], "guard_kind": event["guard_kind"],
                    "hint": _hint(event), "changes": [], "times": 0, "seconds": 0.0, "stack": stack,
                    "function": owner["name"], "file": event["file"], "line": event["line"], "short": owner["short"],
                    "more_changes": 0, "id": f"recompile-{len(self.recompiles) + 1}",
                }  # fmt: skip
                self.recompiles[key] = row
                owner["recompiles"].append(row["id"])
            row = self.recompiles[key]
            row["times"] += 1
            row["seconds"] += self.compile_seconds.get((event["process"], entry_of(event["compile_id"])), 0.0)
            change = (event["old"].removeprefix(f"{event['place']} == "), event["new"])
            if change in row["changes"]:
                continue
            if len(row["changes"]) < _MOST_VALUES:
                row["changes"].append(change)
            else:
                row["more_changes"] += 1

    # ---- costs ---------------------------------------------------------------------------------------------------

    def _costs(self):
        for row in self.events.costs_of("guards"):
            if (row["file"], row["line"]) in self.functions:
                self.functions[row["file"], row["line"]]["guard_seconds"] += row["seconds"]
        for row in self.events.costs_of("function"):
            known = (row["file"], row["line"]) in self.functions
            if not known and row["state"] != "compiled" and (not _own(row) or row["file"].startswith(_PACKAGE)):
                continue
            owner = self._function(row["file"], row["line"], row["function"])
            whole = root_of(row["function"])[1] is None  # what follows a break is no call of its own
            owner["calls"] += row["calls"] if whole else 0
            if row["state"] == "compiled":
                owner["compiled_seconds"] += _own(row)
            else:
                owner["plain_seconds"] += _own(row)
                owner["plain_calls"] += row["calls"] if whole else 0
        inner, outer = {}, {}  # breaks by where they are, and by the frames that called it
        for met in self.breaks.values():
            inner.setdefault((met["file"], met["line"]), []).append(met)
            for frame in met["stack"]:
                outer.setdefault((frame["file"], frame["line"]), met)
        for row in self.events.costs_of("break"):
            at = (row["file"], row["line"])
            rows = inner.get(at, [])
            exact = [met for met in rows if met["column"] == row.get("column", -1)]
            owner = self._function_around(row["file"], row["line"], row["function"])
            owner["break_seconds"] += _own(row)
            met = (exact or rows or [outer.get(at)])[0]
            if met is None:
                continue
            met["own_seconds"] += _own(row)
            if (row["process"], entry_of(row["compile_id"])) in self.inlined:  # the same, seen from its caller
                met["outer_runs"] += row["calls"]
            elif rows:
                met["runs"] += row["calls"]
                met["seconds"] += row["seconds"]
        for met in self.breaks.values():
            met["runs"] = met["runs"] or met["outer_runs"]

    # ---- all together --------------------------------------------------------------------------------------------

    def _ranked(self):
        rows = list(self.functions.values())
        for k, row in enumerate(rows):
            parts = ("compile_seconds", "recompile_seconds", "break_seconds", "plain_seconds")
            row["lost"] = sum(row[part] for part in parts)
            row["id"] = f"function-{k + 1}"
            row["last"] = self._last_line(row)
        return sorted(rows, key=lambda r: (-r["lost"], -len(r["breaks"]), r["file"], r["line"]))

    def _last_line(self, row):
        around = self.sources.function_at(row["file"], row["line"]) if row["line"] else None
        return around[1] if around and around[0] == row["line"] else None

    def _sorted_breaks(self):
        rows = sorted(self.breaks.values(), key=lambda b: (-b["own_seconds"], -b["runs"], -b["traces"]))
        for row in rows:
            row["outcomes"] = dict(row["outcomes"])
        return rows

    def _ops(self):
        """Operations that ran by themselves, outside of graphs: {name: calls, seconds} each, the dearest first."""
        found = {}
        for row in self.events.costs_of("op"):
            known = found.setdefault(row["name"], {"name": row["name"], "calls": 0, "seconds": 0.0})
            known["calls"] += row["calls"]
            known["seconds"] += _own(row)
        return sorted(found.values(), key=lambda op: -op["seconds"])

    def _program(self):
        first = self._of("run")[:1]
        told = first[0] if first else {}
        command = self.run.command or [str(each) for each in told.get("program", [])]
        end = [event for event in self._of("end") if event["process"] == 0]
        seconds = self.run.seconds
        summaries = [s for s in self._of("cost_summary") if s["process"] == 0]
        if seconds is None:
            known = [each.get("wall_seconds") for each in summaries] + [each["seconds"] for each in end]
            seconds = known[0] if known else _span(self.events.processes[0] if self.events.processes else [])
        return {
            "command": command, "seconds": seconds, "status": self.run.status, "signal": self.run.signal,
            "python": told.get("python", ""), "version": told.get("version", ""), "time": told.get("time"),
            "complete": bool(end),
        }  # fmt: skip

    def _processes(self):
        rows = []
        for number, events in enumerate(self.events.processes):
            kinds = Counter(event["kind"] for event in events)
            run = next((event for event in events if event["kind"] == "run"), {})
            cost = next((s for s in self._of("cost_summary") if s["process"] == number), {})
            rows.append(
                {"number": number, "pid": run.get("pid"), "program": run.get("program", []), "time": run.get("time"),
                 "compilations": kinds["compile"], "breaks": kinds["break"], "recompiles": kinds["recompile"],
                 "complete": bool(kinds["end"]), "seconds": cost.get("wall_seconds") or _span(events),
                 "cpu_seconds": cost.get("cpu_seconds"), "observing_seconds": cost.get("observing_seconds"),
                 "parts_left_out": cost.get("parts_left_out", 0)}
            )  # fmt: skip
        return rows

    def _totals(self, made):
        functions = made["functions"]
        totals = {
            name: sum(row[name] for row in functions)
            for name in ("compile_seconds", "recompile_seconds", "break_seconds", "plain_seconds", "compiled_seconds")
        }
        totals["lost"] = sum(row["lost"] for row in functions)
        totals["compilations"] = sum(row["compilations"] for row in functions)
        totals["recompilations"] = sum(row["times"] for row in made["recompiles"])
        totals["break_places"] = len(made["breaks"])
        totals["break_runs"] = sum(row["runs"] for row in made["breaks"])
        totals["graphs"] = sum(len(entry["graphs"]) > 0 for entry in made["entries"])
        totals["limits"] = sum(len(row["limits"]) for row in functions)
        totals["machine_code_seconds"] = sum(row["seconds"] for row in self.events.costs_of("machine_code"))
        bandwidths = [s["copy_bandwidth"] for s in self._of("cost_summary") if s.get("copy_bandwidth")]
        if not bandwidths and any(row["bytes"] for row in self.events.costs_of("kernel")):
            bandwidths = [_C._copy_bandwidth()]  # a short run leaves it to its reader
        totals["copy_bandwidth"] = max(bandwidths) if bandwidths else None
        seconds = made["program"]["seconds"]
        measured = made["has_costs"] and seconds
        everywhere = sum(row["seconds"] or 0.0 for row in made["processes"])  # several processes run beside each other
        totals["compiled_share"] = min(totals["compiled_seconds"] / max(seconds, everywhere), 1.0) if measured else None
        return totals


def _span(events):
    times = [event["time"] for event in events if event["time"]]
    return max(times) - min(times) if times else None
