"""The text of what torch._dynamo.explain() returns, from made-up graphs, breaks and guards."""

import traceback

from minidynamo._dynamo.output import ExplainOutput, GraphCompileReason, GuardSummary


def test_printed_layout():
    frame = traceback.FrameSummary("x.py", 3, "f")
    guard = GuardSummary("L['x']", "local", "TENSOR_MATCH", ["TENSOR_MATCH"], ["check(L['x'])"])
    out = ExplainOutput(
        graphs=[],
        graph_count=2,
        graph_break_count=1,
        break_reasons=[GraphCompileReason("Title\n  Explanation: e", [frame])],
        op_count=3,
        ops_per_graph=[["add", "mul"], ["sub"]],
        out_guards=[guard],
        compile_times="TorchDynamo compilation metrics:",
    )
    assert str(out) == (
        "Graph Count: 2\nGraph Break Count: 1\nOp Count: 3\nBreak Reasons:\n  Break Reason 1:\n"
        "    Reason: Title\n  Explanation: e\n    User Stack:\n      <FrameSummary file x.py, line 3 in f>\n"
        "Ops per Graph:\n  Ops 1:\n    add\n    mul\n  Ops 2:\n    sub\n"
        "Out Guards:\n  Guard 1:\n    Name: \"L['x']\"\n    Source: local\n    Create Function: TENSOR_MATCH\n"
        "    Guard Types: ['TENSOR_MATCH']\n    Code List: [\"check(L['x'])\"]\n"
        "Compile Times: TorchDynamo compilation metrics:\n"
    )


def test_reason_prints_as_in_the_logs():
    reason = GraphCompileReason("return_value", [traceback.FrameSummary("x.py", 2, "fn")], graph_break=False)
    assert repr(reason) == (
        "GraphCompileReason(reason='return_value', user_stack=[<FrameSummary file x.py, line 2 in fn>], "
        "graph_break=False)"
    )
