"""Graphs as programs for other processors, as far as the program that ran has asked for them."""

from .._targets.program import TargetProgram
from .collected import entry_of


def programs(events):
    """{(process, entry): [a dictionary for each graph: graph, direction, target, why, kernels]}, in order.

    A kernel is a dictionary: name, facts (lines), text.
    """
    found = {}
    for event in events.by_kind["target_program"]:
        row = _row(event)
        if row is not None:
            found.setdefault((event["process"], entry_of(event["compile_id"])), []).append(row)
    return found


def _row(event):
    """None of an event that holds something else than we write."""
    try:
        program = TargetProgram(
            event["graph"], event["direction"], event["function"], event["file"], event["line"], event["program"]
        )
        kernels = [{"name": k.name, "facts": k.facts(), "text": k.text} for k in program.kernels]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return {
        "graph": program.graph, "direction": program.direction, "target": program.target, "why": program.why,
        "kernels": kernels,
    }  # fmt: skip
