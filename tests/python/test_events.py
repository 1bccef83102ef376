"""The stream of events: what programs, files and telemetry are told of compilations and breaks."""

import json
import logging
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest

import minidynamo as torch
from minidynamo import _events, compiler
from minidynamo._events import folder, kinds

ROOT = pathlib.Path(__file__).resolve().parents[2]
VALIDATOR = jsonschema.Draft202012Validator(kinds.schema())


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    yield
    assert not _events.is_wanted()


def broken(x):
    y = x + 1
    print(end="")
    return y * 2


def seen(run, **options):
    """The events of a call, without those that say when compilations begin and end."""
    events = []
    with _events.subscribe(events.append, **options):
        run()
    return [event for event in events if not event.kind.startswith("compile_")]


def test_a_break_its_place_and_what_was_compiled():
    events = seen(lambda: torch.compile(broken, backend="eager")(torch.ones(2)))
    assert [event.kind for event in events] == ["break", "graph", "compile", "graph", "resume", "compile"]
    met, first = events[0], broken.__code__.co_firstlineno
    assert (met.code, met.outcome, met.compile_id) == ("GB0059", "resumed", events[2].compile_id)
    (frame,) = met.stack
    assert (frame["file"], frame["line"], frame["function"]) == (__file__, first + 2, "broken")
    assert (frame["end_line"], frame["column"], frame["end_column"]) == (first + 2, 4, 17)
    assert met.hints and met.explanation.startswith("`print`")
    rest = events[4]
    assert (rest.function, rest.line, rest.at) == (f"torch_dynamo_resume_in_broken_at_{first + 2}", first, first + 2)
    assert rest.arguments == ["___stack0", "y"]
    graphs = [(event.backend, event.calls) for event in events if event.kind == "graph"]
    assert graphs == [("eager", 1), ("eager", 1)]
    names = [event.function for event in events if event.kind == "compile"]
    assert names == ["broken", f"torch_dynamo_resume_in_broken_at_{first + 2}"]
    for event in events:
        VALIDATOR.validate(kinds.as_json(event))


def test_compilations_begin_and_end_whatever_comes_of_them():
    def refused(x):
        for _ in range(2):
            print(end="")
        return x + 1

    events = []
    with _events.subscribe(events.append):
        torch.compile(broken, backend="eager")(torch.ones(2))
        torch.compile(refused, backend="eager")(torch.ones(2))
        with pytest.raises(torch._dynamo.exc.Unsupported):
            torch.compile(broken, fullgraph=True)(torch.ones(2))
    marks = [(event.kind, event.compile_id) for event in events if event.kind.startswith("compile_")]
    assert len(marks) == 8 and len(set(marks)) == 8
    assert all(a == ("compile_begin", b[1]) and b[0] == "compile_end" for a, b in zip(marks[::2], marks[1::2]))
    for event in events:
        VALIDATOR.validate(kinds.as_json(event))


def test_counters_metrics_and_logs_say_what_the_events_say():
    def jumps(x):
        return x + 1 if x.sum() > 0 else x - 1

    class Keep(logging.Handler):
        def emit(self, record):
            logged.append(record.getMessage())

    def run():
        for f in (broken, jumps):
            compiled = torch.compile(f, backend="eager", dynamic=False)
            compiled(torch.ones(2)), compiled(torch.ones(3))

    logged, keep = [], Keep()
    utils = torch._dynamo.utils
    utils.counters.clear(), utils.clear_compilation_metrics()
    torch._logging.set_logs(graph_breaks=True, recompiles=True)
    root = logging.getLogger("minidynamo")
    root.addHandler(keep)
    try:
        events = seen(run)
    finally:
        root.removeHandler(keep)
        torch._logging.set_logs()
    by_kind = {kind: [event for event in events if event.kind == kind] for kind in kinds.KINDS}
    counted = [event.counted for event in by_kind["break"]]
    assert sorted(counted) == ["graph_break"] * 2 + ["unimplemented"] * 2
    assert sum(utils.counters["graph_break"].values()) == 2 == sum(utils.counters["unimplemented"].values())
    assert utils.counters["stats"]["unique_graphs"] == len(by_kind["graph"])
    assert utils.counters["stats"]["calls_captured"] == sum(event.calls for event in by_kind["graph"])
    metrics = utils.get_compilation_metrics()
    assert [(m.compile_id, m.co_name) for m in metrics] == [(e.compile_id, e.function) for e in by_kind["compile"]]
    reasons = {m.compile_id: (r.place, r.old, r.new) for m in metrics if (r := m.recompile_reason)}
    assert reasons == {e.compile_id: (e.place, e.old, e.new) for e in by_kind["recompile"]} and reasons
    assert sum(text.startswith("Graph break") for text in logged) == len(by_kind["break"])
    assert sum(text.startswith("Recompiled function") for text in logged) == len(by_kind["recompile"])
    assert sum(text.startswith("Recompiling function") for text in logged) == len(by_kind["no_match"])


def test_kernels_of_a_graph():
    def f(x, w):
        return ((x @ w).relu() + 1).sum()

    events = seen(lambda: torch.compile(f)(torch.ones(2, 3), torch.ones(3, 2)), artifacts=["fusion"])
    (text,) = [event.text for event in events if event.kind == "artifact"]
    assert [line.partition(": ")[0] for line in text.splitlines()[2:]] == ["aten::mm", "fused_relu_add_sum"]


def test_outcomes_of_breaks():
    def skipped(x):
        for _ in range(2):
            x = x + 1
            print(end="")
        return x

    def raised():
        with pytest.raises(torch._dynamo.exc.Unsupported):
            torch.compile(broken, fullgraph=True)(torch.ones(2))

    for run, outcome, more in (
        (lambda: torch.compile(skipped, backend="eager")(torch.ones(2)), "skipped", ["skip"]),
        (raised, "raised", []),
    ):
        events = seen(run)
        assert [event.outcome for event in events if event.kind == "break"] == [outcome]
        assert [event.kind for event in events if event.kind != "break"] == more
        for event in events:
            VALIDATOR.validate(kinds.as_json(event))


def test_recompilations_and_limits():
    def f(x, flag):
        return x + 1 if flag else x - 1

    compiled = torch.compile(f, backend="eager")
    compiled(torch.ones(2), "a")
    again = seen(lambda: compiled(torch.ones(2), "b"))
    assert [event.kind for event in again] == ["graph", "compile", "recompile"]
    cause = again[2]
    assert (cause.place, cause.old, cause.new, cause.guard_kind) == ("flag", "'a'", "'b'", "EQUALS_MATCH")
    assert cause.hint and cause.stack[-1]["file"] == __file__ and again[1].entry == 1
    events = seen(lambda: [compiled(torch.ones(2), str(k)) for k in range(12)])
    (limit,) = [event for event in events if event.kind == "limit"]
    assert (limit.limit, limit.value, limit.function) == ("recompile_limit", 8, "f")
    for event in again + events:
        VALIDATOR.validate(kinds.as_json(event))


def test_texts_only_where_they_are_asked_for():
    def run():
        torch._dynamo.reset()
        torch.compile(lambda x: x + 1, backend="eager")(torch.ones(2))

    assert "artifact" not in [event.kind for event in seen(run)]
    texts = {event.name: event.text for event in seen(run, kinds=["artifact"], artifacts=["graph_code", "guards"])}
    assert set(texts) == {"graph_code", "guards"} and "def forward" in texts["graph_code"]
    assert torch._logging._enabled_mask == 0
    with pytest.raises(ValueError, match="no such artifact: 'graphs'"):
        _events.subscribe(print, artifacts=["graphs"])


def test_an_observer_has_to_be_callable():
    for subscribe in (torch.compiler.on_break, torch.compiler.on_compile, torch.compiler.on_recompile):
        with pytest.raises(TypeError, match="'no function' cannot be called"):
            subscribe("no function")


def test_observers_of_a_program(capsys):
    breaks, compiled, again = [], [], []
    handles = [
        compiler.on_break(breaks.append), compiler.on_compile(compiled.append), compiler.on_recompile(again.append)
    ]  # fmt: skip
    f = torch.compile(broken, backend="eager")
    f(torch.ones(2)), f(torch.ones(3))
    assert (len(breaks), len(compiled), len(again)) == (2, 4, 2)
    for handle in handles:
        handle.remove(), handle.remove()
    f(torch.ones(2, dtype=torch.int64))
    assert len(compiled) == 4

    def failing(event):
        raise KeyError(event.kind)

    with compiler.on_break(failing):
        assert torch.compile(lambda x: broken(x))(torch.ones(1)).tolist() == [4.0]
        assert torch.compile(lambda x: broken(x))(torch.ones(1)).tolist() == [4.0]
    assert capsys.readouterr().err.count("KeyError: 'break'") == 1


PROGRAM = """
import os, sys
import minidynamo as torch

@torch.compile(backend="eager")
def f(x):
    y = x + 1
    print(end="")
    return y * 2

f(torch.ones(2))
if sys.argv[1] == "fork":
    if os.fork() == 0:
        torch._dynamo.reset()
        f(torch.ones(2))
        os._exit(0)
    os.wait()
elif sys.argv[1] == "killed":
    os.kill(os.getpid(), 9)
"""


def run(tmp_path, how, **environment):
    (tmp_path / "program.py").write_text(PROGRAM)
    return subprocess.run(
        [sys.executable, "program.py", how], cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python"), **environment},
    )  # fmt: skip


@pytest.mark.parametrize("how", ["plain", "fork", "killed"])
def test_a_folder_with_a_file_for_each_process(tmp_path, how):
    done = run(tmp_path, how, TORCH_TRACE=str(tmp_path / "trace"))
    assert (done.returncode, done.stderr) == (-9 if how == "killed" else 0, "")
    files = sorted((tmp_path / "trace").iterdir())
    assert len(files) == (2 if how == "fork" else 1)
    for file in files:
        events = list(folder.read(file))
        for event in events:
            VALIDATOR.validate(event)
        found = [event["kind"] for event in events if not event["kind"].startswith("compile_")]
        work = ["break", "artifact", "graph", "compile", "artifact", "graph", "resume", "compile"]
        complete = how == "plain" or (how == "fork" and found[-1] == "end")
        assert found == ["run", *work, *(["end"] if complete else [])]
        if complete:
            assert events[-1]["counts"]["break"] == 1
        with open(file, "a") as out:
            out.write('{"v": 1, "kind"')  # a process that was killed while it wrote
        assert list(folder.read(file)) == events


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    done = run(tmp_path, "plain", MINIDYNAMO_TRACE=str(tmp_path / "file"))
    assert done.returncode == 0 and "no events are written to" in done.stderr
    done = run(tmp_path, "plain", MINIDYNAMO_TRACE=str(tmp_path / "a"), MINIDYNAMO_TRACE_ARTIFACTS="graph_codes")
    assert done.returncode == 0 and "no such artifact: 'graph_codes'" in done.stderr
    full = folder.EventFile("/dev/full", "0.1.0")
    try:
        torch.compile(broken, backend="eager")(torch.ones(2))
        assert full._out is None
    finally:
        full._subscription.remove()


def test_telemetry():
    spans = []

    class Span:
        def __init__(self, name, start_time, attributes):
            self.name, self.start, self.attributes = name, start_time, attributes

        def end(self, end_time):
            spans.append((self.name, self.attributes["minidynamo.function"], end_time >= self.start))

    class Tracer:
        def start_span(self, name, **about):
            return Span(name, **about)

    class Provider:
        def get_tracer(self, *args, **kwargs):
            return Tracer()

    with compiler.export_telemetry(Provider()):
        torch.compile(broken, backend="eager")(torch.ones(2))
    resumed = f"torch_dynamo_resume_in_broken_at_{broken.__code__.co_firstlineno + 2}"
    assert spans == [("minidynamo.compile", "broken", True), ("minidynamo.compile", resumed, True)]


def test_the_page_and_the_schema_are_up_to_date():
    done = subprocess.run([sys.executable, ROOT / "tools/events_page.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    jsonschema.Draft202012Validator.check_schema(
        json.loads((ROOT / "python/minidynamo/_events/schema.json").read_text())
    )
