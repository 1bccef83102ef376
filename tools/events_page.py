#!/usr/bin/env python3
"""Writes docs/events.md and the JSON schema of events from _events/kinds.py. --check: are they up to date?"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from minidynamo._events import kinds  # noqa: E402
from minidynamo._events.stream import VERSION  # noqa: E402

HEAD = f"""\
# Events

What the compiler does, as one stream (`python/minidynamo/_events`). Three ways to listen:

- **A folder**: with `MINIDYNAMO_TRACE=folder` (or torch's `TORCH_TRACE`) in the environment, each process writes a
  file of JSON lines there, also those that are forked or started by multiprocessing. A line is written as soon as its
  event happens, so that what was seen stays when a process is killed. `MINIDYNAMO_TRACE_ARTIFACTS=graph_code,guards`
  says which texts are written as well (default: `graph_code`; the names are those of `MINIDYNAMO_LOGS`).
  Commands that watch a program (`check`, `report`) have it write into a folder of their own as well.
- **An observer**: `minidynamo.compiler.on_break(f)`, `on_compile(f)` and `on_recompile(f)` call `f(event)`, whose
  attributes are the fields below. They give a handle; `handle.remove()`, or the end of `with on_break(f):`, ends it.
  An observer runs in the thread that compiles; what it raises is logged once and changes nothing.
- **OpenTelemetry**: `minidynamo.compiler.export_telemetry()` makes a span of each compilation and adds breaks and
  recompilations to the span they happen in, where the package `opentelemetry-api` is installed.

With `MINIDYNAMO_TRACE_COSTS=1` beside the folder, a process also writes what it costs (`cost`, `part`,
`cost_summary`): after 0.1 s, then at growing distances, at last every two seconds, and at its end. Of one that is
killed the last of these stays. The children of a fork begin with nothing. How to read it:

- Calls are counted one by one. Those that take less than some microseconds are not all measured: the time of the others
  is that of the measured ones (docs/performance.md).
- `seconds` of a function that breaks are those from its first entry to its end: the breaks and its other parts
  (`torch_dynamo_resume_in_...`, which have rows of their own for each graph) are inside. Summing up `own_seconds` of
  functions and breaks counts nothing twice. Compilations are in no function's own time: `compile` tells them.
- A function is `plain` where a compilation was asked for and did not come about, not where nobody asked. Below a plain
  function under which nothing was compiled for 16 calls, others are no longer looked at: their time is in its own.
- A generator or coroutine that Python runs has no row: its time is its caller's, while it is suspended nobody's.
- What has not ended (a `time.sleep` in which the process is killed) is not there yet.

Logs, counters, compilation metrics, callbacks and profiles take what they say from the same events, as do `explain()`,
`check`, `report` and `run --report`. Events that none of them needs are only made while somebody listens.

Version {VERSION} of the schema, for one line of a file: `python/minidynamo/_events/schema.json` (JSON Schema 2020-12).
Fields may be added without a new version; a field that changes its meaning, or goes, makes one.

## Of every event

"""


def _type_text(type_):
    if "const" in type_:
        return f"`{json.dumps(type_['const'])}`"
    if "enum" in type_:
        return ", ".join(f"`{json.dumps(value)}`" for value in type_["enum"])
    if "anyOf" in type_:
        return " or ".join(_type_text(each) for each in type_["anyOf"])
    if type_ is kinds.STACK:
        return "frames"
    if type_["type"] == "array":
        return f"list of {_type_text(type_['items'])}s"
    if type_["type"] == "object":
        return (
            f"object of {_type_text(type_['additionalProperties'])}s" if "additionalProperties" in type_ else "object"
        )
    return type_["type"]


def _table(fields):
    rows = [f"| `{name}` | {_type_text(type_)} | {about} |" for name, (type_, about) in fields.items()]
    return "\n".join(["| field | type | what it holds |", "|---|---|---|", *rows, ""])


def page():
    """The text of docs/events.md."""
    parts = [HEAD + _table(kinds.COMMON)]
    parts.append(
        "Frames are objects with `file`, `line` and `function`, and where it is known which part of the line was\n"
        "executed `end_line`, `column` and `end_column` (in bytes of UTF-8, from 0).\n"
    )
    for kind, (about, fields) in kinds.KINDS.items():
        parts.append(f"## `{kind}`\n\n{about}\n\n{_table(fields)}")
    return "\n".join(parts)


def main():
    wanted = {
        ROOT / "docs/events.md": page(),
        ROOT / "python/minidynamo/_events/schema.json": json.dumps(kinds.schema(), indent=1) + "\n",
    }
    if sys.argv[1:] == ["--check"]:
        old = [str(path) for path, text in wanted.items() if not path.exists() or path.read_text() != text]
        return f"not up to date: {', '.join(old)}: run .venv/bin/python tools/events_page.py" if old else 0
    for path, text in wanted.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
