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
    assert "part" not in counts(prof)
    with pytest.raises(TypeError, match="unexpected keyword argument 'shapes'"):
        profile(shapes=True)
    with pytest.raises(AssertionError, match="schedule"):
        schedule(wait=1, warmup=1, active=0)
    with pytest.raises(RuntimeError, match="no CUDA"), emit_nvtx():
        pass


COMPILATION = "_compile.compile_inner (dynamo_timed)"


def by_category(prof, path):
    """{category: [name, in the order in which they ended]} of a trace."""
    prof.export_chrome_trace(path)
    found = {}
    for row in json.loads(path.read_text())["traceEvents"]:
        found.setdefault(row["cat"], []).append(row["name"])
    return found


def regions(names):
    """Entries' numbers count on in a process: those of the first one are 0."""
    numbers = [int(name.split(": ")[1].split("/")[0]) for name in names]
    return [number - min(numbers) for number in numbers]


def test_compilations_regions_kernels_and_breaks(tmp_path):
    def f(x):
        y = x.sin() * 2 + 1
        len(sorted([3, 1], key=id))
        return y.cos() @ y

    def g(x):
        return x.exp() + 1

    x = torch.ones(4, 4)
    with torch._dynamo.config.patch(background_compile=False):
        broken, whole = torch.compile(f), torch.compile(g)
        with profile() as first:
            broken(x), whole(x)
        with profile() as later:
            broken(x), broken(x), whole(x)
    (break_name,) = set(by_category(later, tmp_path / "a.json")["graph_break"])
    assert break_name.startswith("Graph break: GB") and break_name.endswith(
        f"test_profiler.py:{f.__code__.co_firstlineno + 2}"
    )
    made, again = by_category(first, tmp_path / "a.json"), by_category(later, tmp_path / "b.json")
    assert made["compile"].count(COMPILATION) == 3
    assert len([name for name in made["compile"] if name.startswith("codegen: ")]) == 3
    assert regions(made["compiled_region"]) == [0, 1, 2]
    assert regions(again["compiled_region"]) == [0, 1, 0, 1, 2]
    assert again["graph_break"] == [break_name] * 2 and "compile" not in again
    kernels = ["fused_sin_mul_add", "fused_cos", "aten::mm"]
    assert again["kernel"] == [*kernels, *kernels, "fused_exp_add"]
    rows = {row.key: row for row in later.key_averages()}
    inside = sum(part.cpu_time_total for part in later.events() if part.category == "kernel")
    around = sum(part.cpu_time_total for part in later.events() if part.category == "compiled_region")
    assert 0 < inside < around and rows[break_name].count == 2


def test_what_a_trace_tells_of_a_compilation(tmp_path):
    def f(x):
        return x + 1

    with profile() as prof:
        torch.compile(f)(torch.ones(2))
    prof.export_chrome_trace(tmp_path / "trace.json")
    rows = [
        row for row in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if row["name"] == COMPILATION
    ]
    assert [set(row["args"]) for row in rows] == [{"compile_id"}] and rows[0]["args"]["compile_id"].endswith("/0")


def test_parts_that_raise_and_nested_profiles():
    def f(x):
        y = x + 1
        raise_later(y)
        return y

    @torch.compiler.disable
    def raise_later(y):
        raise ValueError("later")

    compiled = torch.compile(f)
    with profile() as outer:
        with pytest.raises(ValueError, match="later"):
            compiled(torch.ones(2))
        with profile() as inner_profile, pytest.raises(ValueError, match="later"):
            compiled(torch.ones(2))
    names = [
        part.name.split(" at ")[0] for part in outer.events() if part.category in ("graph_break", "compiled_region")
    ]
    kinds = [name.split(":")[0] for name in names]
    assert kinds == ["Torch-Compiled Region", "Graph break"] * 2
    assert len([part for part in inner_profile.events() if part.category == "graph_break"]) == 1
    noted = len(outer.events())
    torch.compile(lambda x: x * 2)(torch.ones(2))  # after the profiles: of no concern to them
    with profile() as empty:
        pass
    assert (len(outer.events()), len(empty.events())) == (noted, 0)
