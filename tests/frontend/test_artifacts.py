"""Every artifact that native code makes: on by call, its text, and nothing of any other artifact."""

import dis
import logging

import pytest

import minidynamo as torch
from minidynamo import _logging
from minidynamo._dynamo.testing import EagerAndRecordGraphs

ARTIFACTS = [
    "graph_breaks", "graph_code", "graph", "graph_sizes", "guards", "recompiles", "recompiles_verbose", "bytecode",
    "output_code", "perf_hints", "aot_graphs", "trace_source", "trace_bytecode", "trace_call",
]  # fmt: skip


@pytest.fixture
def collected():
    """(artifact, text) of everything logged."""
    records = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append((record.name.rpartition(".__")[2], record.getMessage()))
    torch._dynamo.reset()
    yield records, handler
    logging.getLogger("minidynamo").removeHandler(handler)
    _logging.set_logs()
    torch._dynamo.reset()


def watch(collected, **artifacts):
    _logging.set_logs(**artifacts)
    logging.getLogger("minidynamo").addHandler(collected[1])
    return collected[0]


def weighted(x, factor, kept):
    y = (x.T + 1).sum(0)
    kept.append(y)
    return y * factor


def broken(x):
    y = x + 1
    torch._dynamo.graph_break()
    return y * 2


def run_everything():
    compiled = torch.compile(weighted)
    compiled(torch.ones(3, 4).T, True, [])
    compiled(torch.ones(4, 5, dtype=torch.float64), False, [1])
    torch.compile(broken)(torch.ones(2))


@pytest.mark.parametrize("artifact", ARTIFACTS)
def test_one_artifact_by_call(artifact, collected):
    records = watch(collected, **{artifact: True})
    run_everything()
    assert {name for name, _ in records} == {artifact}


def test_graph_sizes(collected):
    records = watch(collected, graph_sizes=True)
    compiled = torch.compile(lambda x: x.sum(0) + 1, backend="eager")
    compiled(torch.ones(3, 4))
    compiled(torch.ones(5, 4))
    (_, first), (_, second) = records
    assert first.split("\n")[2:] == ["l_x_: (3, 4)", "sum_1: (4,)", "add: (4,)", ""]
    assert second.split("\n")[2:4] == ["l_x_: (s0, 4)", "l_x_ (concrete): (5, 4)"]


def test_graph_is_the_table_of_the_graph_module(collected, capsys):
    records = watch(collected, graph=True)
    backend = EagerAndRecordGraphs()
    torch.compile(lambda x: torch.cat([x, x * 2], dim=0), backend=backend)(torch.ones(3))
    backend.graphs[0].graph.print_tabular()
    ((_, text),) = records
    assert text.split("\n", 2)[2] == capsys.readouterr().out


def test_bytecode_shows_the_original_and_what_runs_instead(collected):
    records = watch(collected, bytecode=True)
    torch.compile(broken)(torch.ones(2))
    texts = [text for _, text in records]
    titles = [text.split(" /")[0] for text in texts]
    resumed = f"torch_dynamo_resume_in_broken_at_{broken.__code__.co_firstlineno + 2}"
    assert titles == [
        "ORIGINAL BYTECODE broken", "MODIFIED BYTECODE broken", "BREAKING INSTRUCTION of broken",
        "RESUMED CODE of broken", f"ORIGINAL BYTECODE {resumed}", f"MODIFIED BYTECODE {resumed}",
    ]  # fmt: skip
    assert dis.Bytecode(broken).dis() in texts[0]
    assert "outputs = __compiled_fn_" in texts[1] and "(L['x'])\n" in texts[1] and "  hold r" in texts[1]
    assert "CALL" in texts[2] and "BINARY_OP" not in texts[2] and "BINARY_OP" in texts[3]
    assert texts[5].endswith("  r0 = LoadOutput 0\n  return r0\n")


def test_recompiles_verbose_names_every_guard_that_fails(collected):
    records = watch(collected, recompiles=True, recompiles_verbose=True)
    compiled = torch.compile(weighted, backend="eager")
    compiled(torch.ones(3, 4), True, [])
    compiled(torch.ones(5, 4, dtype=torch.float64), False, [1])
    (name, text), (after, took) = records
    assert name == after == "recompiles_verbose" and took.startswith("Recompiled function weighted in ")
    lines = [line.split("  #")[0].rstrip() for line in text.split("\n")[2:]]
    assert lines[0] == "    guard 0 failures:"
    assert sorted(lines[1:-1]) == [
        "    - 0/0: factor == True", "    - 0/0: not kept",
        "    - 0/0: tensor 'x' dtype mismatch. expected Float, actual Double",
    ]  # fmt: skip


def test_recompiles_verbose_looks_no_deeper_into_what_has_changed(collected):
    """Guards on the parts of something that has become another thing do not run."""
    records = watch(collected, recompiles_verbose=True)
    compiled = torch.compile(lambda x, parts: x * parts["a"][0] * parts["b"], backend="eager")
    compiled(torch.ones(3), {"a": [2], "b": 3})
    compiled(torch.ones(3), {"a": (2, 5), "b": 4})
    text = records[0][1]
    failures = [line.split("  #")[0].rstrip().split("0/0: ")[1] for line in text.split("\n") if "0/0" in line]
    assert len(failures) == 2 and failures[1] == "parts['b'] == 3"
    assert failures[0].startswith("___check_type_id(parts['a'], ")


def test_recompiles_verbose_when_a_part_is_gone(collected):
    records = watch(collected, recompiles_verbose=True)
    compiled = torch.compile(lambda x, parts: x * parts["a"], backend="eager")
    compiled(torch.ones(3), {"a": 2})
    with pytest.raises(KeyError):
        compiled(torch.ones(3), {"b": 2})
    assert "- 0/0: ___dict_contains('a', parts)" in records[0][1]


def test_perf_hints(collected):
    records = watch(collected, perf_hints=True)
    compiled = torch.compile(lambda x: x + 1)
    compiled(torch.ones(3, 4))
    assert records == []
    compiled(torch.ones(4, 3).T)
    ((_, text),) = records
    assert "the input L['x'] is not contiguous (sizes [3, 4], strides [1, 3])" in text

    def overlapping(a, b):
        a.add_(1)
        return a + b

    del records[:]
    memory = torch.ones(4)
    torch.compile(overlapping)(memory[:3], memory[1:])
    ((_, text),) = records
    assert "runs op by op, nothing is fused: " in text


def test_aot_graphs_show_the_functional_graph(collected):
    records = watch(collected, aot_graphs=True)

    def f(x):
        y = x + 1
        y += 2
        return y * 3

    torch.compile(f)(torch.ones(2))
    ((_, text),) = records
    assert "Forward graph of __compiled_fn_" in text and "torch.add(add, 2)" in text


def test_dynamic_tells_of_symbols_and_what_was_assumed(collected):
    records = watch(collected, dynamic=logging.INFO)

    def f(x):
        return x * 2 if x.shape[0] > 4 else x

    torch.compile(f, dynamic=True)(torch.ones(6, 3))
    texts = [text for _, text in records]
    assert texts[0] == "create_symbol s0 = 6 for L['x'].size()[0]"
    assert any(text.startswith("eval ") and text.endswith("[guard added]") and "s0" in text for text in texts)
