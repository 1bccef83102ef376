"""Results of `explain(f)(*args)`."""

import dataclasses

from .program_frames import resumed_function


@dataclasses.dataclass
class GraphCompileReason:
    """Why a graph ended: `reason` is the break's text, or return_value, generic_jump TensorVariable(), ..."""

    reason: str
    user_stack: list  # traceback.FrameSummary, outermost first
    graph_break: bool = True


@dataclasses.dataclass
class GuardSummary:
    """One guard of a compiled entry."""

    name: str
    source: str
    create_function: str
    guard_types: list
    code_list: list

    def __str__(self):
        return (
            f"Name: {self.name!r}\n"
            f"    Source: {self.source}\n"
            f"    Create Function: {self.create_function}\n"
            f"    Guard Types: {self.guard_types}\n"
            f"    Code List: {self.code_list}\n"
        )


@dataclasses.dataclass
class DeviceGraph:
    """What became of the launches of a graph on a GPU: one CUDA graph, or (`why`) launches one by one."""

    graph: str
    launches: int
    kernels: str
    why: str

    def __str__(self):
        if self.why:
            return f"{self.graph}: launched one by one: {self.why}"
        return f"{self.graph}: {self.launches} launches are one CUDA graph: {self.kernels}"


@dataclasses.dataclass
class ExplainOutput:
    """What explain() has found; its text is a report.

    `graphs` are the graph modules handed to the backend, in order, `ops_per_graph` their operations, `op_count` how
    many in all; `break_reasons` are GraphCompileReason, one for each break; `out_guards` GuardSummary; `compile_times`
    is a text, in seconds. `programs` are what the graphs would be on another processor, if a target is set
    (`_targets.program.TargetProgram`, with their kernels): by the options of the function, or the setting `target`.
    `device_graphs` are DeviceGraph, where the function was compiled with `mode="reduce-overhead"` or its kin.
    """

    graphs: list
    graph_count: int
    graph_break_count: int
    break_reasons: list
    op_count: int
    ops_per_graph: list = None
    out_guards: list = None
    compile_times: str = None
    programs: list = dataclasses.field(default_factory=list)
    device_graphs: list = dataclasses.field(default_factory=list)

    def __str__(self):
        return "".join(self._lines())

    def _repr_html_(self):
        from .. import _display  # only in notebooks

        return _display.explanation(self, lambda name: resumed_function(name) or name)

    def _lines(self):
        yield f"Graph Count: {self.graph_count}\n"
        yield f"Graph Break Count: {self.graph_break_count}\n"
        yield f"Op Count: {self.op_count}\n"
        yield "Break Reasons:\n"
        for number, reason in enumerate(self.break_reasons, 1):
            yield f"  Break Reason {number}:\n    Reason: {reason.reason}\n    User Stack:\n"
            yield from (f"      {frame}\n" for frame in reason.user_stack)
        if self.ops_per_graph is not None:
            yield "Ops per Graph:\n"
            for number, ops in enumerate(self.ops_per_graph, 1):
                yield f"  Ops {number}:\n"
                yield from (f"    {op}\n" for op in ops)
        if self.out_guards is not None:
            yield "Out Guards:\n"
            for number, guard in enumerate(self.out_guards, 1):
                yield f"  Guard {number}:\n    {guard}"
        if self.compile_times is not None:
            yield f"Compile Times: {self.compile_times}\n"
        for number, program in enumerate(self.programs, 1):
            yield f"Program {number}:\n{program}\n"
        for number, graph in enumerate(self.device_graphs, 1):
            yield f"Device Graph {number}: {graph}\n"
