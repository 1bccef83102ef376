"""What is counted of events: `counters` and the metrics of compilations, which stand at the stream."""

from .. import _events
from . import message, utils


def count(category, name, times=1):
    """Adds to counters[category][name]."""
    with message.lock:
        utils.counters[category][name] += times


@_events.stand_at("break")
def _on_break(event):
    """Breaks after which a graph goes on, as in torch those of a jump on data in a category of their own; the others
    end in an Unsupported, which counts itself."""
    if event.outcome == "resumed":
        code = message.code_number(event.code)
        count(event.counted, message.break_message(code, event.type, event.context, event.explanation, event.hints))


@_events.stand_at("graph")
def _on_graph(event):
    count("stats", "calls_captured", event.calls)
    count("stats", "unique_graphs")


@_events.stand_at("compile")
def _on_compile(event):
    """Keeps it for get_compilation_metrics()."""
    utils._metrics.append(
        utils.CompilationMetrics(
            event.compile_id,
            event.function,
            event.file,
            event.line,
            event.entry,
            event.time - event.seconds,
            event.seconds,
            None,
        )  # fmt: skip
    )


@_events.stand_at("recompile")
def _on_recompile(event):
    """Its reason belongs to the compilation that was just kept."""
    stack = tuple(_events.frames_of(event))
    reason = utils.RecompileReason(
        event.guard, event.guard_kind, event.source, event.place, event.old, event.new, event.hint, stack
    )
    for k in range(len(utils._metrics) - 1, -1, -1):
        if utils._metrics[k].compile_id == event.compile_id:
            utils._metrics[k] = utils._metrics[k]._replace(recompile_reason=reason)
            return


@_events.stand_at("device_graph")
def _on_device_graph(event):
    if event.why:
        count("inductor", "cudagraph_skips")
