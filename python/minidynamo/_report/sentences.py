"""What the page says of a run, a function, a break, an entry, in plain words."""

import os

from .words import amount, duration, many, sentence, share


def title(model):
    """The program's name."""
    command = [each for each in model["program"]["command"] if each]
    return (
        os.path.basename(command[0]) if command and not command[0].startswith("-") else " ".join(command) or "A program"
    )


def ended(model):
    """How the program ended."""
    program = model["program"]
    if program["signal"]:
        return f"killed by {program['signal']}; what was seen until then is here"
    if program["status"] is None:
        return "in an orderly way" if program["complete"] else "not known: the last event is missing"
    if program["status"] == 0:
        return "exit status 0"
    return f"exit status {program['status']}"


def about(model):
    """The run in a sentence or two."""
    program, totals = model["program"], model["totals"]
    text = f"The program ran for {duration(program['seconds'])}"
    if totals["compiled_share"] is not None:
        text += f", {share(totals['compiled_share'])} of it in compiled code"
    if program["signal"] or program["status"]:
        text += f" ({ended(model)})"
    if not totals["compilations"]:
        return text + ". Nothing was compiled."
    compiling = duration(totals["compile_seconds"] + totals["recompile_seconds"])
    text += f". {many(totals['compilations'], 'compilation')} took {compiling}"
    if totals["recompilations"]:
        text += f", {amount(totals['recompilations'])} of them because something had changed"
    if not totals["break_places"]:
        one = ": all that was compiled is one graph" if totals["graphs"] == 1 else ""
        return text + f". Nothing broke a graph{one}."
    text += f". {many(totals['break_places'], 'line')} {'breaks' if totals['break_places'] == 1 else 'break'} graphs"
    if totals["break_runs"]:
        text += f", and did so {many(totals['break_runs'], 'time')}"
    return text + "."


def waits(model):
    """That the run was over before graphs had code of their own, or nothing."""
    if not model["has_costs"] or model["kernels"] or not model["totals"]["graphs"]:
        return ""
    return (
        "It ended before machine code was there: until then graphs run operation by operation. "
        "`MINIDYNAMO_BACKGROUND_COMPILE=0` makes the first call wait for it."
    )


def summary(model):
    """The same in a terminal: lines, with what to do first."""
    rows = [about(model)]
    for number, row in enumerate(model["first"], 1):
        what = ": ".join(filter(None, [row["place"], row["code"]]))
        cost = f"; {row['cost']}" if row["cost"] else ""
        rows += [f"{number}. {what} {row['how']}{cost}.", f"   {sentence(row['hint'])}"]
    if not model["first"] and model["totals"]["compilations"]:
        rows.append("No graph breaks, and nothing was compiled twice.")
    return rows


def shares(model):
    """Where the time went: the parts of a bar."""
    seconds, totals = model["program"]["seconds"], model["totals"]
    if not model["has_costs"] or not seconds:
        return []
    rows = [
        ("compiled", "compiled code", totals["compiled_seconds"]), ("break", "breaks", totals["break_seconds"]),
        ("plain", "functions as plain Python", totals["plain_seconds"]),
        ("compile", "compiling", totals["compile_seconds"]),
        ("recompile", "compiling again", totals["recompile_seconds"]),
    ]  # fmt: skip
    rest = max(seconds - sum(row[2] for row in rows), 0.0)
    rows.append(("other", "everything else (other Python of the program, imports, start and end)", rest))
    return [
        {"kind": kind, "label": f"{name} {duration(value)}", "weight": f"{1000 * value / seconds:.2f}"}
        for kind, name, value in rows
        if value > 0
    ]


def of_function(function, model):
    """What is known of a function besides its source."""
    parts = [f"Lost {duration(function['lost'])}"]
    if model["has_costs"]:
        parts.append(f"{many(function['calls'], 'call')}, {duration(function['compiled_seconds'])} in compiled code")
        if function["guard_seconds"]:
            parts.append(f"checking guards took {duration(function['guard_seconds'])}")
        if function["plain_calls"]:
            parts.append(
                f"{many(function['plain_calls'], 'call')} as plain Python, {duration(function['plain_seconds'])}"
            )
    if function["compilations"]:
        parts.append(
            f"compiled {many(function['compilations'], 'time')} in "
            f"{duration(function['compile_seconds'] + function['recompile_seconds'])}"
        )
    return "; ".join(parts) + "."


_OUTCOMES = {
    "resumed": "a new graph goes on after it",
    "skipped": "the function runs as plain Python because of it",
    "plain": "the function runs as plain Python because of it",
    "raised": "one graph was asked for, so it is an error",
}


def of_break(met, measured):
    """How often it broke, what that took, and what came of it."""
    parts = []
    if met["runs"]:
        each = met["own_seconds"] / met["runs"]
        parts.append(f"Broke {many(met['runs'], 'time')}, {duration(met['own_seconds'])} in all, {duration(each)} each")
    elif measured:
        parts.append("No time was measured here")
    parts.append(f"met in {many(met['traces'], 'compilation')}")
    parts += dict.fromkeys(_OUTCOMES[each] for each in met["outcomes"] if each in _OUTCOMES)
    text = "; ".join(parts)
    return text[:1].upper() + text[1:] + "."


def entry_title(entry):
    """ "step", "step, after line 12", "step, the third time"."""
    after = f" after line {entry['at']}" if entry["at"] else ""
    again = f", variant {entry['entry'] + 1}" if entry["entry"] else ""
    return f"{entry['function']}{after}{again}"


def families(entries):
    """Entries of the same function, or of the same part of it, stand together: [[first, variant, ...], ...]."""
    found = {}
    for entry in entries:
        found.setdefault((entry["process"], entry["file"], entry["line"], entry["at"]), []).append(entry)
    return list(found.values())


def of_entry(entry):
    """What is known of an entry besides its graphs."""
    parts = [f"Compiled in {duration(entry['seconds'])}"]
    if entry["backend"]:
        parts.append(f"by the backend {entry['backend']}")
    if not entry["graphs"]:
        parts.append("without operations of tensors" if not entry["backend"] else "its graph was not recorded")
    return ", ".join(parts) + "."
