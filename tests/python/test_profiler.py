"""torch.profiler: named parts, the tables and traces of them, and schedules."""

import json

import pytest

import minidynamo as torch
from minidynamo.autograd.profiler import emit_nvtx
from minidynamo.profiler import ProfilerAction, profile, record_function, schedule


@record_function("inner")
def inner():
    return sum(range(1000))


def counts(prof):
    return {row.key: row.count for row in prof.key_averages() if not row.key.startswith("aten::")}


def test_parts_and_their_own_time():
    with profile() as prof:
        with record_function("outer"):
            inner()
            inner()
        with pytest.raises(KeyError), record_function("failed"):
            raise KeyError
    inner()
    assert counts(prof) == {"inner": 2, "outer": 1, "failed": 1}
    rows = {row.key: row for row in prof.key_averages()}
    assert rows["inner"].self_cpu_time_total == rows["inner"].cpu_time_total > 0
    own = rows["outer"].cpu_time_total - rows["inner"].cpu_time_total
    assert rows["outer"].self_cpu_time_total == pytest.approx(own)
    first = max(rows, key=lambda key: rows[key].cpu_time_total)  # any of them where the processor is shared
    text = prof.key_averages().table(sort_by="cpu_time_total", row_limit=1)
    assert [key for key in rows if key in text] == [first] and "Self CPU time total" in text


def test_steps_of_a_schedule(tmp_path):
    ready = []

    def note(prof):
        ready.append((prof.step_num, counts(prof)))
        prof.export_chrome_trace(tmp_path / "trace.json")

    with profile(schedule=schedule(wait=1, warmup=1, active=2, repeat=1), on_trace_ready=note) as prof:
        for _ in range(6):
            inner()
            prof.step()
    assert ready == [(4, {"inner": 2, "ProfilerStep*": 2})]
    assert [row["name"] for row in json.loads((tmp_path / "trace.json").read_text())["traceEvents"]].count("inner") == 2
    actions = [schedule(wait=1, warmup=0, active=1)(step) for step in range(3)]
    assert actions == [ProfilerAction.NONE, ProfilerAction.RECORD_AND_SAVE, ProfilerAction.NONE]


def test_compiled_code_and_what_is_refused():
    def f(x):
        with record_function("part"):
            return x + 1

    with profile(record_shapes=True) as prof:
        assert torch.compile(f, fullgraph=True)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert counts(prof) == {}
    with pytest.raises(TypeError, match="unexpected keyword argument 'shapes'"):
        profile(shapes=True)
    with pytest.raises(AssertionError, match="schedule"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(RuntimeError, match="no CUDA"), emit_nvtx():
        pass
