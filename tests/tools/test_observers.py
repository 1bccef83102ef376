"""Coverage, tracers, profilers: what they report of compiled functions is what they report of plain ones."""

import cProfile
import importlib.util
import inspect
import json
import os
import pathlib
import profile
import pstats
import subprocess
import sys
import threading
import time
import trace
import traceback
import tracemalloc
import warnings

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter

HERE = pathlib.Path(__file__).parent
CORES = ["ctrace", "pytrace", *(["sysmon"] if sys.version_info >= (3, 12) else [])]

COVERED = """
import importlib, json, sys
import coverage
import minidynamo
sys.path.insert(0, sys.argv[1])
found = {}
def watch(name, branch, act):
    c = coverage.Coverage(data_file=None, branch=branch, config_file=False, include=[sys.argv[1] + "/watched_*"])
    c.start()
    act()
    c.stop()
    data = c.get_data()
    of = data.arcs if branch else data.lines
    files = [sys.argv[1] + "/watched_plain.py", sys.argv[1] + "/watched_compiled.py"]
    found[name] = [sorted(of(f) or []) for f in files]
modules = []
def first():
    modules.extend(importlib.import_module(name) for name in ("watched_plain", "watched_compiled"))
    again()
def again():
    for module in modules:
        module.everything()
watch("from the start", False, first)
watch("lines", False, again)
again()  # compiled
watch("branches", True, again)
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def covered(tmp_path_factory):
    place = tmp_path_factory.mktemp("covered")
    for name in ("plain", "compiled"):
        (place / f"watched_{name}.py").write_text((HERE / "watched_program.py").read_text())
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(torch.__file__).parents[1])}
    running = {}
    for core in CORES:
        running[core] = subprocess.Popen(
            [sys.executable, "-c", COVERED, str(place)],
            env={**environment, "COVERAGE_CORE": core},
            stdout=subprocess.PIPE,
            text=True,
        )
    return {core: json.loads(process.communicate(timeout=100)[0].splitlines()[-1]) for core, process in running.items()}


@pytest.mark.parametrize("core", CORES)
@pytest.mark.parametrize("when", ["from the start", "lines", "branches"])
def test_coverage(covered, core, when):
    plain, compiled = covered[core][when]
    assert plain == compiled and len(plain) > 30


def test_pytest_cov(tmp_path):
    (tmp_path / "watched_compiled.py").write_text((HERE / "watched_program.py").read_text())
    (tmp_path / "test_it.py").write_text("import watched_compiled\ndef test_it():\n    watched_compiled.everything()\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--cov=watched_compiled", "--cov-branch"]
    environment = {**os.environ, "PYTHONPATH": f"{pathlib.Path(torch.__file__).parents[1]}{os.pathsep}{tmp_path}"}
    done = subprocess.run(
        [*command, "--cov-report=term-missing"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("watched_compiled.py")]
    source = (HERE / "watched_program.py").read_text().splitlines()
    missing = [int(n) for n in row.replace(",", "").split("%")[1].split() if n.isdigit()]
    assert [source[n - 1].strip() for n in missing] == ["z = y * 3", "h = h * 3", "r = r + 1"]


def loaded(name):
    spec = importlib.util.spec_from_file_location(name, HERE / "watched_program.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.everything()  # compiled before anybody looks
    return module


@pytest.fixture(scope="module")
def programs():
    return loaded("watched_plain"), loaded("watched_compiled")


def of_program(names):
    return {name: count for name, count in names.items() if name[0].endswith("watched_program.py")}


@pytest.mark.parametrize("kind", [cProfile.Profile, profile.Profile], ids=["cProfile", "profile"])
def test_profilers_count_the_calls_of_functions(programs, kind):
    seen = []
    for program in programs:
        profiler = kind()
        profiler.runcall(program.work)
        stats = pstats.Stats(profiler).stats
        seen.append(of_program({name: row[:2] for name, row in stats.items()}))
    assert seen[0] == seen[1] and len(seen[0]) >= 6


def test_trace_counts_lines(programs):
    counts = []
    for program in programs:
        tracer = trace.Trace(count=1, trace=0)
        tracer.runfunc(program.work)
        counts.append(of_program(tracer.results().counts))
    assert counts[0] == counts[1] and len(counts[0]) > 30


@pytest.mark.parametrize("install", [threading.settrace, threading.setprofile], ids=lambda f: f.__name__)
def test_functions_set_for_threads_see_every_frame(programs, install):
    seen = []
    for program in programs:
        events = []

        def observe(frame, event, arg, events=events):
            if frame.f_code.co_filename.endswith("watched_program.py"):
                events.append((event, frame.f_code.co_name, frame.f_lineno))
            return observe

        install(observe)
        try:
            thread = threading.Thread(target=program.work)
            thread.start()
            thread.join()
        finally:
            install(None)
        seen.append(events)
    assert seen[0] == seen[1] and len(seen[0]) > 20


@pytest.mark.parametrize("install", [threading.settrace, threading.setprofile], ids=lambda f: f.__name__)
def test_functions_are_compiled_again_when_the_watched_thread_has_ended(install):
    install(lambda *event: None)
    thread = threading.Thread(target=str)
    thread.start(), thread.join()
    install(None)
    torch._dynamo.reset()
    counter = CompileCounter()
    torch.compile(lambda x: x + 1, backend=counter)(torch.ones(2))
    assert counter.frame_count == 1


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_monitoring_sees_every_line(programs):
    monitoring = sys.monitoring
    seen = []
    for program in programs:
        lines = []
        monitoring.use_tool_id(4, "test")
        monitoring.register_callback(
            4,
            monitoring.events.LINE,
            lambda code, line, lines=lines: lines.append(line) if code.co_filename.endswith("_program.py") else None,
        )
        monitoring.set_events(4, monitoring.events.LINE)
        try:
            program.work()
        finally:
            monitoring.set_events(4, 0)
            monitoring.free_tool_id(4)
        seen.append(lines)
    assert seen[0] == seen[1] and len(seen[0]) > 30


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is new in 3.12")
def test_monitoring_of_one_function():
    """Its own events are seen where it is compiled itself, before and after that."""

    @torch.compile(backend="eager")
    def f(x):
        y = x + 1
        return y * 2

    monitoring, lines, code = sys.monitoring, [], torch._C._original(f).__code__
    monitoring.use_tool_id(4, "test")
    monitoring.register_callback(4, monitoring.events.LINE, lambda code, line: lines.append(line))
    try:
        for _ in range(2):
            monitoring.set_local_events(4, code, monitoring.events.LINE)
            f(torch.ones(2))
            monitoring.set_local_events(4, code, 0)
            assert len(lines) == 2
            lines.clear()
            f(torch.ones(2))
            assert lines == []
    finally:
        monitoring.free_tool_id(4)


# ---- what compiled code shows of itself --------------------------------------------------------------------------


def warned(x):
    y = x + 1
    warnings.warn("look here", stacklevel=1)
    return y


def warned_above(x):
    def deeper(y):
        warnings.warn("look above", stacklevel=2)
        return y

    z = deeper(x + 1)
    return z


def raised(x):
    y = x + 1
    return deep(y)


def deep(y):
    print(end="")
    return y.reshape(17)


def own_stack(x):
    y = x + 1
    names = [frame.function for frame in inspect.stack()[:2]]
    return y, names


@pytest.mark.parametrize("f", [warned, warned_above])
def test_warnings_name_the_users_line(f):
    seen = []
    for run in (f, torch.compile(f, backend="eager")):
        torch._dynamo.reset()
        for _ in range(2):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                run(torch.ones(2))
            seen.append([(w.filename, w.lineno, str(w.message)) for w in caught if "look" in str(w.message)])
    assert seen[0] == seen[1] == seen[2] == seen[3] and len(seen[0]) == 1


def test_tracebacks_show_the_users_frames():
    seen = []
    for run in (raised, torch.compile(raised, backend="eager")):
        for _ in range(2):
            with pytest.raises(RuntimeError) as caught:
                run(torch.ones(2))
            seen.append([(f.name, f.lineno, f.line) for f in traceback.extract_tb(caught.value.__traceback__)[1:]])
    assert seen[0] == seen[1] == seen[2] == seen[3]
    assert [name for name, _, _ in seen[0]] == ["raised", "deep"]


def test_inspect():
    compiled = torch.compile(own_stack, backend="eager")
    assert inspect.getsource(compiled) == inspect.getsource(own_stack)
    assert inspect.signature(compiled) == inspect.signature(own_stack)
    assert inspect.unwrap(compiled) is own_stack and inspect.getmodule(compiled) is sys.modules[__name__]
    assert compiled(torch.ones(2))[1] == own_stack(torch.ones(2))[1]
    assert inspect.getdoc(torch.compile(test_inspect)) == inspect.getdoc(test_inspect)


def test_current_frames_and_tracemalloc_name_the_program():
    """What compiled code allocates is booked to the line that called it."""

    def f(x):
        y = x + 1
        time.sleep(0)
        held.append(bytes(100_000))
        frames.append(sys._current_frames()[threading.get_ident()].f_code.co_name)
        return y

    held, frames = [], []
    compiled = torch.compile(f, backend="eager")
    tracemalloc.start()
    try:
        compiled(torch.ones(2))
        (place,) = [
            stat.traceback[0] for stat in tracemalloc.take_snapshot().statistics("lineno") if stat.size > 90_000
        ]
    finally:
        tracemalloc.stop()
    assert frames == ["f"]
    assert place.filename == __file__
