"""When things happened: parts of the run on one axis, and the same as a trace that Perfetto and Chrome open."""

import re

_GRAPH = re.compile(r"(__compiled_fn_\d+)_[0-9a-f_]{36}")  # what makes its name unique is no use to a reader
_LONGEST = 200  # characters of a name
_MOST_DRAWN = 1500  # parts in the picture
_MOST_KEPT = 60_000
LANES = {
    "user_annotation": "annotations", "compile": "compiling", "machine_code": "machine code", "region": "compiled code",
    "kernel": "kernels", "break": "breaks", "plain": "plain Python", "op": "single ops",
}  # fmt: skip


def timeline(events):
    """{"parts": all of them, "seconds": the end of the last, "left_out": how many no one has}."""
    parts, begun = [], {}
    for number, rows in enumerate(events.processes):
        begun[number] = next((e["time"] for e in rows if e["kind"] == "run"), rows[0]["time"] if rows else 0.0)
    zero = min(begun.values(), default=0.0)
    for event in events.by_kind["part"]:
        shift = begun[event["process"]] - zero
        parts.append(_part(event, event["category"], event["name"], shift + event["start"], event["seconds"]))
    measured = {(part["process"], part["category"]) for part in parts}
    for event in events.by_kind["compile"]:
        if (event["process"], "compile") not in measured:
            start = event["time"] - event["seconds"] - zero
            parts.append(_part(event, "compile", event["function"], start, event["seconds"]))
    for event in events.by_kind["break"]:
        if (event["process"], "break") not in measured:
            parts.append(_part(event, "break", event["type"], event["time"] - zero, 0.0))
    left_out = sum(each.get("parts_left_out", 0) for each in events.by_kind["cost_summary"])
    left_out += max(len(parts) - _MOST_KEPT, 0)
    parts = sorted(parts, key=lambda p: p["start"])[:_MOST_KEPT]
    seconds = max((part["start"] + part["seconds"] for part in parts), default=0.0)
    return {"parts": parts, "seconds": seconds, "left_out": left_out}


def _part(event, category, name, start, seconds):
    return {
        "category": category, "name": _GRAPH.sub(r"\1", name)[:_LONGEST],
        "start": max(start, 0.0), "seconds": seconds, "process": event["process"],
        "thread": event.get("thread", 0), "compile_id": event.get("compile_id", ""),
    }  # fmt: skip


def lanes(found):
    """([(process, category, title, [part, ...]), ...], how many parts are not drawn): the longest ones."""
    sorted_parts = sorted(found["parts"], key=lambda part: -part["seconds"])
    drawn, rows = sorted_parts[:_MOST_DRAWN], {}
    for part in sorted(drawn, key=lambda part: part["start"]):
        rows.setdefault((part["process"], part["category"]), []).append(part)
    order = list(LANES)
    keys = sorted(rows, key=lambda key: (key[0], order.index(key[1]) if key[1] in order else len(order)))
    return [(*key, LANES.get(key[1], key[1]), rows[key]) for key in keys], len(sorted_parts) - len(drawn)


def trace(model, most=None):
    """The parts as a Chrome trace: {"traceEvents": [...]}, the format that Perfetto reads."""
    rows = []
    for process in model["processes"]:
        name = " ".join(str(each) for each in process["program"]) or "program"
        rows.append({"ph": "M", "name": "process_name", "pid": process["number"], "tid": 0, "args": {"name": name}})
    order = list(LANES)
    parts = model["timeline"]["parts"]
    if most is not None and len(parts) > most:
        parts = sorted(sorted(parts, key=lambda p: -p["seconds"])[:most], key=lambda p: p["start"])
    for key in dict.fromkeys((part["process"], part["category"]) for part in parts):
        track = order.index(key[1]) + 1 if key[1] in order else len(order) + 1
        rows.append({"ph": "M", "name": "thread_name", "pid": key[0], "tid": track,
                     "args": {"name": LANES.get(key[1], key[1])}})  # fmt: skip
    for part in parts:
        track = order.index(part["category"]) + 1 if part["category"] in order else len(order) + 1
        rows.append(
            {"ph": "X", "name": part["name"], "cat": part["category"], "pid": part["process"], "tid": track,
             "ts": round(part["start"] * 1e6, 3), "dur": round(part["seconds"] * 1e6, 3),
             "args": {"compile_id": part["compile_id"]} if part["compile_id"] else {}}
        )  # fmt: skip
    return {"traceEvents": rows, "displayTimeUnit": "ms"}
