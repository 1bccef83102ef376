"""What explain() collects while functions are compiled."""

import contextlib
import time

from .. import _C, _events
from . import message

_active = []


class Record:
    """Graphs, break reasons and codes of one recorded run.

    `compiler`: what runs the graphs that record no gradients, for what it tells; others are run op by op.
    """

    def __init__(self, compiler=None):
        self.compiler = compiler
        self.device_graphs = []
        self.graphs = []
        self.break_reasons = []
        self.codes = []
        self.programs = []
        self.started = time.perf_counter()

    def on_break(self, event):
        """Of the stream of events: breaks after which something goes on are counted."""
        if event.outcome not in ("resumed", "skipped"):
            return
        from .output import GraphCompileReason

        code = message.code_number(event.code)
        reason = message.break_message(code, event.type, event.context, event.explanation, event.hints)
        stack = list(message.summaries(_events.frames_of(event)))
        self.break_reasons.append(GraphCompileReason(reason, stack))

    def on_program(self, event):
        from .._targets.program import TargetProgram

        place = (event.function, event.file, event.line)
        self.programs.append(TargetProgram(event.graph, event.direction, *place, event.program))

    def on_device_graph(self, event):
        from .output import DeviceGraph

        self.device_graphs.append(DeviceGraph(event.graph, event.launches, event.kernels, event.why))

    def backend(self, gm, example_inputs):
        self.graphs.append(gm)
        recorded = _C.is_grad_enabled() and any(getattr(x, "requires_grad", False) for x in example_inputs)
        if self.compiler is not None and not recorded:
            return self.compiler(gm, example_inputs)
        return gm.forward

    def ops_per_graph(self):
        return [[n.target for n in gm.graph.nodes if "call" in n.op] for gm in self.graphs]

    def guards(self):
        from .output import GuardSummary  # here: importing dataclasses takes milliseconds

        rows = []
        for code in self.codes:
            for entry in _C._guard_rows(code):
                rows += [
                    GuardSummary(name, source, create, [create], code_list) for name, source, create, code_list in entry
                ]
        return rows

    def times_text(self):
        took = time.perf_counter() - self.started
        return f"TorchDynamo compilation metrics:\nFunction, Runtimes (s)\n_compile.compile_inner, {took:.4f}"


@contextlib.contextmanager
def recording(exports=False, compiler=None):
    """Records every compilation of the block. `exports`: the graphs are for other elements of their inputs, too."""
    record = Record(compiler)
    _active.append(record)
    before = _C._leave_elements_unknown(exports)
    try:
        with (
            _events.subscribe(record.on_break, ["break"]),
            _events.subscribe(record.on_program, ["target_program"]),
            _events.subscribe(record.on_device_graph, ["device_graph"]),
        ):
            yield record
    finally:
        _C._leave_elements_unknown(before)
        _active.remove(record)


def on_entry(code):
    for record in _active:
        record.codes.append(code)


_places = None  # {(code, file, line, title, explanation, hints): times}, while `run --report` collects them


def collect_places():
    global _places
    _places = {}
    _events.subscribe(_note_place, ["break"])


def _note_place(event):
    key = (event.code, *message.place(_events.frames_of(event)), event.type, event.explanation, tuple(event.hints))
    with message.lock:
        _places[key] = _places.get(key, 0) + 1


def places():
    """Where breaks were met, JSON-ready, the most frequent first."""
    names = ("code", "file", "line", "title", "explanation", "hints")
    rows = sorted((_places or {}).items(), key=lambda row: (-row[1], row[0][1:3]))
    return [{**dict(zip(names, key)), "times": times} for key, times in rows]
