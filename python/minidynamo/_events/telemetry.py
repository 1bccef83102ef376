"""Events as OpenTelemetry knows them, for programs that have opentelemetry-api."""

from .kinds import as_json
from .stream import subscribe

_NANO = 1_000_000_000
_NAMES = {"compile": "minidynamo.compile", "break": "minidynamo.graph_break", "recompile": "minidynamo.recompile"}


def export(tracer_provider=None):
    """Each compilation becomes a span; breaks, recompilations, limits and defects are events of the span that is open
    where they happen. Gives the subscription; ImportError without opentelemetry-api."""
    from opentelemetry import trace

    tracer = trace.get_tracer("minidynamo", tracer_provider=tracer_provider)

    def listen(event):
        name, about = _NAMES.get(event.kind, f"minidynamo.{event.kind}"), _attributes(event)
        if event.kind == "compile":
            end = int(event.time * _NANO)
            span = tracer.start_span(name, start_time=end - int(event.seconds * _NANO), attributes=about)
            span.end(end_time=end)
        else:
            trace.get_current_span().add_event(name, about, timestamp=int(event.time * _NANO))

    return subscribe(listen, ["compile", "recompile", "break", "limit", "skip", "internal_error"])


def _attributes(event):
    """Plain values; a stack is the place of its innermost frame."""
    found = {}
    for name, value in as_json(event).items():
        if name == "stack":
            if value:
                found["code.filepath"], found["code.lineno"] = value[-1]["file"], value[-1]["line"]
                found["code.function"] = value[-1]["function"]
        elif value is not None and name not in ("v", "kind", "time"):
            found[f"minidynamo.{name}"] = value
    return found
