"""What each kind of event holds: a table, from which the JSON schema and docs/events.md are made."""

from .stream import VERSION

TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
NUMBER = {"type": "number"}
FLAG = {"type": "boolean"}
TEXTS = {"type": "array", "items": TEXT}
COUNTS = {"type": "object", "additionalProperties": COUNT}
STACK = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "file": TEXT, "line": {"type": "integer"}, "function": TEXT,
            "end_line": COUNT, "column": COUNT, "end_column": COUNT,
        },
        "required": ["file", "line", "function"],
        "additionalProperties": False,
    },
}  # fmt: skip


def _or_null(type_):
    return {"anyOf": [type_, {"type": "null"}]}


# Of every event.
COMMON = {
    "v": ({"const": VERSION}, "the version of the schema"),
    "kind": (TEXT, "one of the kinds below"),
    "time": (NUMBER, "seconds since the epoch"),
    "thread": (COUNT, "the thread that made it, as `threading.get_ident()` gives it"),
    "compile_id": (TEXT, 'the compilation it belongs to, as logs name it ("0/1"); "" outside of one'),
}

_FUNCTION = {
    "function": (TEXT, "the name of the function"),
    "file": (TEXT, "the file of its source"),
    "line": (COUNT, "the first line of its source"),
}

# kind: (what it tells, {field: (type, what it holds)})
KINDS = {
    "run": (
        "A process begins to write events: the first line of each file.",
        {
            "program": (TEXTS, "`sys.argv`"),
            "python": (TEXT, "the version of Python"),
            "version": (TEXT, "the version of minidynamo"),
            "pid": (COUNT, "the process"),
        },
    ),
    "compile_begin": ("A function, or what follows a break in it, is about to be compiled.", {}),
    "compile_end": (
        "That is over, whatever came of it.",
        {"seconds": (NUMBER, "how long it took; compilations inside of it included")},
    ),
    "compile": (
        "A function, or what follows a break in it, was compiled.",
        {**_FUNCTION, "seconds": (NUMBER, "how long that took"), "entry": (COUNT, "how many were compiled before")},
    ),
    "no_match": (
        "No code that was there fits a call, told before more is compiled; made only while recompilations are logged, "
        "or forbidden.",
        {
            **_FUNCTION,
            "failures": (
                {"type": "array", "items": TEXTS},
                "for each code of the function the assumptions that fail, the first one, or all with "
                "`recompiles_verbose`",
            ),
        },
    ),
    "resume": (
        "What follows a break got code of its own; comes before its `compile`.",
        {
            **_FUNCTION,
            "at": (COUNT, "the line at which it goes on"),
            "arguments": (TEXTS, "the variables it is handed; `___stack0`, ... are values the line had computed"),
        },
    ),
    "recompile": (
        "Code that was there did not fit a call, and more was compiled; follows its `compile`.",
        {
            **_FUNCTION,
            "seconds": (NUMBER, "how long that took"),
            "source": (TEXT, "what that assumption looks at, as the log of guards shows it"),
            "guard": (TEXT, "the assumption that failed, as the log of guards shows it"),
            "guard_kind": (TEXT, "what kind of assumption it is"),
            "place": (TEXT, "what has changed, as the program spells it"),
            "old": (TEXT, "its value before"),
            "new": (TEXT, "its value now"),
            "hint": (TEXT, "a way out"),
            "stack": (STACK, "the callers, outermost first"),
        },
    ),
    "graph": (
        "A graph goes to a backend.",
        {"backend": (TEXT, "its name"), "calls": (COUNT, "how many operations it has")},
    ),
    "break": (
        "A graph ended at something that cannot be in it.",
        {
            "code": (_or_null(TEXT), 'its code, "GB0170"'),
            "type": (TEXT, "its title"),
            "context": (TEXT, "what it met"),
            "explanation": (TEXT, "why"),
            "hints": (TEXTS, "what to do"),
            "stack": (STACK, "the traced frames, outermost first"),
            "outcome": (
                {"enum": ["resumed", "skipped", "plain", "raised"]},
                "resumed: a new graph goes on after it; skipped: the function runs as plain Python; plain: the same, "
                "because an exception leaves it, it is a generator, or there is a limit (counters and `explain()` do "
                "not count these); raised: with `fullgraph=True`, an exception",
            ),
            "counted": (TEXT, "the category of `counters` it is counted in: graph_break or unimplemented"),
            "in_loop": (FLAG, "skipped, because a loop that was begun cannot be resumed"),
        },
    ),
    "skip": (
        "A function runs as plain Python.",
        {
            **_FUNCTION,
            "cause": (
                {"enum": ["break", "loop", "error", "asked"]},
                "break: at a place that cannot be resumed; loop: a break in a loop; error: an operation fails, or the "
                "function is of a kind that is not compiled; asked: skip_frame() was called",
            ),
            "reason": (TEXT, "why, in a line"),
            "error": (TEXT, 'the exceptions that stand behind it, as text; "" if there are none'),
            "stack": (STACK, "the traced frames, outermost first"),
        },
    ),
    "limit": (
        "A function was compiled as often as the settings allow, and runs as plain Python where nothing fits.",
        {
            **_FUNCTION,
            "limit": (TEXT, "the setting"),
            "value": (COUNT, "its value"),
            "reason": (TEXT, "the assumption that failed last"),
            "advice": (TEXTS, "what keeps changing, and a way out, where that is known"),
        },
    ),
    "internal_error": (
        "A defect of minidynamo; the function runs as plain Python.",
        {**_FUNCTION, "error": (TEXT, "what went wrong")},
    ),
    "source": (
        "Source that is in no file, a cell of a notebook for instance; comes before the first event about it.",
        {"file": (TEXT, "what stands for its file elsewhere"), "text": (TEXT, "the source")},
    ),
    "artifact": (
        "A text that was asked for: what the log of that name shows.",
        {
            "name": (TEXT, "graph_code, aot_graphs, fusion, guards, bytecode, output_code, ..."),
            "text": (TEXT, "the text"),
        },
    ),
    "target_program": (
        "A graph as a program for another processor, which somebody has asked for (`target`).",
        {
            **_FUNCTION,
            "graph": (TEXT, "the name of the graph"),
            "direction": ({"enum": ["Forward", "Backward"]}, "of a graph with gradients both are told"),
            "target": (TEXT, 'the processor ("sm_90")'),
            "program": ({"type": "object"}, "launches, memory and code ([gpu_programs.md](gpu_programs.md))"),
        },
    ),
    "device_graph": (
        "What became of the launches of a compiled graph on a GPU, where they are to be one CUDA graph "
        '(`mode="reduce-overhead"`): when it is put together, and when it cannot be.',
        {
            "graph": (TEXT, "the name of the graph"),
            "launches": (COUNT, "how many become one; 0 where that is not known"),
            "kernels": (TEXT, "their names, with lines of the program where they are known"),
            "why": (TEXT, 'why they are launched one by one; "" where a graph was captured'),
        },
    ),
    "cost": (
        "What one thing has cost so far; a later row with the same `of`, `name`, place, `compile_id` and `state` "
        "replaces it. With `MINIDYNAMO_TRACE_COSTS=1`, every two seconds for what has changed, and at the end.",
        {
            "of": (
                {"enum": ["function", "break", "kernel", "op", "guards", "machine_code"]},
                "function: the runs of what was compiled of it, or (`state`) its frames as plain Python; break: the "
                "breaking instruction, executed as Python; guards: looking for code that fits a call",
            ),
            "name": (TEXT, 'of a kernel ("fused_mul_add"), an operation ("aten::add"), a graph; else ""'),
            "function": (TEXT, 'the name of the function, "" where it is not known'),
            "file": (TEXT, "the file of its source"),
            "line": (
                COUNT,
                "of a function the first line of its source, of a break that of the instruction; 0: not known",
            ),
            "column": ({"type": "integer"}, "of a break: in UTF-8 bytes; -1: not known"),
            "end_line": ({"type": "integer"}, "of a break; -1: not known"),
            "end_column": ({"type": "integer"}, "of a break; -1: not known"),
            "state": (
                {"enum": ["compiled", "plain", ""]},
                "of a function: compiled, or what ran as plain Python though a compilation was asked for (it was "
                "skipped, has reached a limit, or is what a break has left)",
            ),
            "calls": (COUNT, "how often it ran"),
            "seconds": (NUMBER, "how long, with what it calls; of a function that breaks, to its end"),
            "own_seconds": (
                NUMBER,
                "without functions of other rows, breaks and compilations inside; of operations and kernels, without "
                "those inside",
            ),
            "bytes": (COUNT, "of a kernel: read and written; 0: not known"),
            "threads": (COUNT, "in how many threads"),
        },
    ),
    "part": (
        "A piece of the time line, with `MINIDYNAMO_TRACE_COSTS=1`: at most 20,000 of a process (the first runs of "
        "each thing, long ones, and stretches of all, rarer with time). `thread` is the one in which it ran.",
        {
            "category": (
                {"enum": ["compile", "machine_code", "region", "kernel", "break", "op", "plain", "user_annotation"]},
                "what it is; region: compiled code of a function up to a break or its end",
            ),
            "name": (TEXT, "of the function, kernel or operation; of a break its code and place"),
            "start": (NUMBER, "seconds since `run`"),
            "seconds": (NUMBER, "how long"),
        },
    ),
    "cost_summary": (
        "After each flush of costs: a later one replaces it.",
        {
            "wall_seconds": (NUMBER, "since `run`"),
            "cpu_seconds": (NUMBER, "of the process, all threads"),
            "observing_seconds": (NUMBER, "an estimate of what measuring and writing has taken of them"),
            "writing_seconds": (NUMBER, "processor time of writing it down, which is part of that"),
            "parts_left_out": (COUNT, "how many pieces are not in the time line"),
            "copy_bandwidth": (
                NUMBER,
                "bytes a second, read and written, of a copy of 16 MB, measured once in a run of more than a second; "
                "0: not measured",
            ),
        },
    ),
    "end": (
        "The process ends in an orderly way: the last line of its file.",
        {"seconds": (NUMBER, "since `run`"), "counts": (COUNTS, "how many events of each kind there were")},
    ),
}


def schema():
    """The JSON schema (2020-12) of one line."""
    common = {name: type_ for name, (type_, _) in COMMON.items()}
    rows = []
    for kind, (about, fields) in KINDS.items():
        properties = {**common, "kind": {"const": kind}, **{name: type_ for name, (type_, _) in fields.items()}}
        rows.append(
            {
                "title": kind,
                "description": about,
                "type": "object",
                "properties": properties,
                "required": list(properties),
                "additionalProperties": False,
            }
        )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"Events of minidynamo, version {VERSION}",
        "oneOf": rows,
    }


def as_json(event):
    """An event as the dictionary that a line holds."""
    fields = dict(vars(event))
    first = {"v": VERSION, "kind": fields.pop("kind"), "time": fields.pop("time"), "thread": fields.pop("thread")}
    return {**first, "compile_id": fields.pop("compile_id"), **fields}
