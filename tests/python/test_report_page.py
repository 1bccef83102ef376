"""`python -m minidynamo report`: the model of a run, its page, and programs that end badly or write markup."""

import html.parser
import json
import os
import pathlib
import random
import signal
import stat
import subprocess
import sys
import time

import pytest

from minidynamo._events import folder
from minidynamo._report import page, timeline
from minidynamo._report.model import Run, model

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """\
import minidynamo as torch


def noisy(x, how_many):
    y = x * how_many
    print("größe", y.shape, end="")
    return (y + 1).relu() * 2


compiled = torch.compile(noisy)
for size in (3, 4, 5):
    compiled(torch.ones(size), 2)
"""


def report(tmp_path, program, *options, name="program.py", ended=None, **more):
    path = tmp_path / name
    path.write_text(program, encoding="utf-8")
    command = [sys.executable, "-m", "minidynamo", "report", *options, str(path), *more.pop("arguments", [])]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=100, **more)
    assert ended is None or done.returncode == ended, done.stderr
    return done


class Page(html.parser.HTMLParser):
    """What a browser makes of a page: elements, text, ids, links; every element has to be closed."""

    VOID = {"meta", "link", "br", "img", "input", "hr"}

    def __init__(self, data):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words, self.ids, self.links, self.requests = [], [], [], [], [], []
        self.feed(data.decode("utf-8"))
        self.close()
        assert self.open == []
        self.text = "".join(self.words)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" else []
        self.requests += [value for name, value in attributes if name in ("src", "data", "srcset", "action")]
        self.requests += [given.get("href")] if tag == "link" else []
        assert not [name for name in given if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.words.append(data)


def read(path):
    found = Page(path.read_bytes())
    assert not found.requests
    assert len(set(found.ids)) == len(found.ids)
    inside = [link[1:] for link in found.links if link.startswith("#")]
    assert set(inside) <= set(found.ids)
    assert [tag for tag in found.tags if tag in ("main", "h1", "nav", "header", "footer")].count("h1") == 1
    return found


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """The report of PROGRAM: (folder, page, model, timeline)."""
    place = tmp_path_factory.mktemp("report")
    done = report(place, PROGRAM, "-o", "out.html", "--json", "out.json", "--timeline", "trace.json", ended=0)
    assert "All of it: out.html" in done.stderr and done.stdout.count("größe") == 3
    return place, read(place / "out.html"), json.loads((place / "out.json").read_text()), place / "trace.json"


def test_the_model_of_a_run(ran):
    place, _, found, _ = ran
    totals = found["totals"]
    assert (totals["compilations"], totals["recompilations"], totals["break_places"]) == (4, 2, 1)
    (met,) = found["breaks"]
    assert (met["code"], met["line"], met["function"]) == ("GB0059", 6, "noisy")
    frame = met["stack"][-1]
    assert (frame["before"], frame["executed"], frame["after"]) == ("", 'print("größe", y.shape, end="")', "")
    assert met["outcomes"] == {"resumed": 2}
    (function,) = found["functions"]
    assert (function["name"], function["line"], function["last"], function["compilations"]) == ("noisy", 4, 7, 4)
    assert function["compile_seconds"] > 0 and function["recompile_seconds"] > 0
    assert [r["place"] for r in found["recompiles"]] and all(r["changes"][0] == ["3", "4"] for r in found["recompiles"])
    assert {"break", "recompile"} >= {row["cause"] for row in found["first"]} and found["first"]
    assert found["program"]["status"] == 0


def test_what_it_cost(ran):
    found = ran[2]
    (met,), (function,), totals = found["breaks"], found["functions"], found["totals"]
    assert found["has_costs"] and (met["runs"], function["calls"]) == (3, 3)
    assert 0 < met["own_seconds"] <= met["seconds"] and function["break_seconds"] == met["own_seconds"]
    parts = ("compile_seconds", "recompile_seconds", "break_seconds", "plain_seconds")
    assert function["lost"] == pytest.approx(sum(function[part] for part in parts))
    assert 0 < totals["lost"] < found["program"]["seconds"] and 0 < totals["compiled_share"] < 1
    assert [row["anchor"] for row in found["first"] if row["cause"] == "break"] == [met["id"]]
    assert {part["category"] for part in found["timeline"]["parts"]} >= {"compile", "region", "break"}
    shown = ran[1].text
    assert "Broke 3 times" in shown and "GB0059 broke 3 times" in shown


def test_entries_with_kernels_and_what_they_are_handed(ran):
    found = ran[2]
    first, rest = found["entries"][:2]
    (graph,) = first["graphs"]
    assert [kernel["name"] for kernel in graph["kernels"]] == ["fused_mul"]
    assert [(node["op"], node["line"]) for node in graph["nodes"]] == [("mul", 5)]
    (graph,) = rest["graphs"]
    assert [kernel["nodes"] for kernel in graph["kernels"]] == [[node["name"] for node in graph["nodes"]]]
    assert rest["resume_code"].splitlines() == [
        "def torch_dynamo_resume_in_noisy_at_6(___stack0, y):",
        "    # ___stack0: the value of what broke",
        "    # goes on in the middle of:",
        "    ___stack0",
        "    return (y + 1).relu() * 2",
    ]
    assert found["breaks"][0]["before"][0] == first["id"] and found["breaks"][0]["after"][0] == rest["id"]
    assert rest["guards"] and first["guards"]


def test_the_page_of_a_run(ran):
    shown = ran[1]
    for text in (
        "What to do first",
        "GB0059",
        'print("größe", y.shape, end="")',
        "Call print before or after",
        "fused_mul",
    ):
        assert text in shown.text
    assert shown.tags.count("svg") >= 4 and "table" in shown.tags
    for name in ("functions", "breaks", "recompilations", "compiled", "kernels", "timeline", "run"):
        assert name in shown.ids


def test_the_timeline_for_perfetto(ran):
    rows = json.loads(ran[3].read_text())["traceEvents"]
    assert {row["ph"] for row in rows} == {"M", "X"}
    compiled = [row for row in rows if row["ph"] == "X" and row["cat"] == "compile"]
    assert len(compiled) == 4 and all(row["dur"] > 0 and row["ts"] >= 0 for row in compiled)


def test_a_folder_of_events(tmp_path, ran):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "MINIDYNAMO_TRACE": str(tmp_path / "events")}
    subprocess.run([sys.executable, str(ran[0] / "program.py")], env=environment, check=True, capture_output=True)
    events = [list(folder.read(file)) for file in (tmp_path / "events").iterdir()]
    found = model(events)
    assert not found["has_costs"] and found["totals"]["compilations"] == 4
    (tmp_path / "page.html").write_bytes(page.render(found))
    text = read(tmp_path / "page.html").text
    assert "This run was recorded without costs" in text and "How long kernels took was not recorded." in text


# ---- programs that end badly -------------------------------------------------------------------------------------


ENDINGS = {
    "raises": ("raise ValueError('<b>no</b>')", 1, "exit status 1"),
    "exits": ("import sys; sys.exit(7)", 7, "exit status 7"),
    "leaves": ("import os; os._exit(3)", 3, "exit status 3"),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "killed by SIGKILL"),
    "forks": ("import os\nif (p := os.fork()): os.waitpid(p, 0)\nelse: compiled(torch.ones(9), 3)", 0, "exit status 0"),
}


@pytest.mark.parametrize("how", ENDINGS)
def test_what_was_seen_is_kept(tmp_path, how):
    last, status, said = ENDINGS[how]
    report(tmp_path, PROGRAM + last + "\n", "-o", "out.html", ended=status)
    shown = read(tmp_path / "out.html")
    assert said in shown.text and "GB0059" in shown.text
    assert ("before the process did" in shown.text) == (how in ("leaves", "killed"))


@pytest.mark.parametrize("how", ["Ctrl-C", "SIGTERM"])
def test_a_program_that_hangs_is_ended(tmp_path, how):
    (tmp_path / "program.py").write_text(PROGRAM + "print('ready', flush=True)\nwhile True: pass\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-m", "minidynamo", "report", "-o", "out.html", "program.py"]
    program = subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    )  # fmt: skip
    seen = b""
    while b"ready" not in seen:
        seen += program.stdout.read(1)
    if how == "Ctrl-C":
        os.killpg(program.pid, signal.SIGINT)
    else:  # it is handed on
        program.terminate()
    program.communicate(timeout=60)
    assert program.returncode in ((1, 130) if how == "Ctrl-C" else (143,))
    assert "GB0059" in read(tmp_path / "out.html").text


def test_where_it_cannot_be_written(tmp_path):
    program = "print('ran')\n"
    done = report(tmp_path, program, "-o", "no/such/folder.html", ended=2)
    assert "its folder does not exist" in done.stderr and done.stdout == ""
    assert "it is a folder" in report(tmp_path, program, "-o", ".", ended=2).stderr
    done = report(tmp_path, program, "-o", "/dev/full", ended=1)
    assert "No space left on device" in done.stderr and "--from" in done.stderr and done.stdout == "ran\n"
    if os.getuid():
        os.chmod(tmp_path, stat.S_IRUSR | stat.S_IXUSR)
        assert "may not be written" in report(tmp_path, program, ended=2).stderr


def test_nothing_to_run_and_nothing_compiled(tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "python")}
    command = [sys.executable, "-m", "minidynamo", "report"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "name a program" in done.stderr
    done = subprocess.run([*command, "--from", str(tmp_path)], env=environment, capture_output=True, text=True)
    assert done.returncode == 2 and "there are no events" in done.stderr
    report(tmp_path, "import minidynamo\n", "-o", "out.html", ended=0)
    assert "Nothing was compiled in this run." in read(tmp_path / "out.html").text


def test_arguments_and_modules(tmp_path):
    (tmp_path / "tool.py").write_text("import sys; print(sys.argv[1:])\n")
    done = report(
        tmp_path, "import sys; print(sys.argv[1:])\n", "-o", "a.html", arguments=["-o", "--json", "x"], ended=0
    )
    assert done.stdout == "['-o', '--json', 'x']\n"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "python"), str(tmp_path)])}
    command = [sys.executable, "-m", "minidynamo", "report", "-o", "b.html", "-m", "tool", "--everything"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "['--everything']\n"), done.stderr
    done = report(tmp_path, "import torch\nprint(torch.__name__)\n", "--as-torch", "-o", "c.html", ended=0)
    assert done.stdout == "minidynamo\n"


# ---- events that nobody would write ------------------------------------------------------------------------------

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&\udcff\x00]]>"


def events_of(file, breaks=1, functions=1, costs=True, text=EVIL):
    """The events of an invented run."""
    now, rows = time.time(), []
    add = lambda kind, **more: rows.append({"v": 1, "kind": kind, "time": now, "thread": 1, "compile_id": "", **more})  # noqa: E731
    add("run", program=[text], python=text, version=text, pid=1)
    for k in range(functions):
        place = {"function": f"{text}{k}", "file": file, "line": k + 1}
        add("artifact", compile_id=f"{k}/0", name="graph_code", text=f"TRACED GRAPH\n ===== {text} =====\n{text}")
        add("graph", compile_id=f"{k}/0", backend=text, calls=1)
        add("compile", compile_id=f"{k}/0", seconds=0.1, entry=0, **place)
        add("recompile", compile_id=f"{k}/1", guard=text, guard_kind=text, place=text, old=text, new=text, hint=text,
            stack=[place], **place)  # fmt: skip
        add("limit", limit=text, value=8, reason=text, **place)
        add("skip", reason=text, **place)
        add("internal_error", error=text, **place)
    for k in range(breaks):
        frame = {"function": text, "file": file, "line": k + 1, "end_line": k + 1, "column": 3, "end_column": 900}
        code = ["../GB0001", None, f"GB{k % 222:04}"][min(k, 2)]
        add("break", code=code, type=text, context=text, explanation=text, hints=[text], stack=[frame] * 3,
            outcome="resumed")  # fmt: skip
    if costs:
        add("cost", of="kernel", name=text, function="", file="", line=0, compile_id="0/0", state="", calls=3,
            seconds=0.1, own_seconds=0.1, bytes=10**9, threads=1)  # fmt: skip
        add("part", category=text, name=text, start=0.0, seconds=0.5)
        add(
            "cost_summary",
            wall_seconds=1.0,
            cpu_seconds=1.0,
            observing_seconds=0.0,
            parts_left_out=4,
            copy_bandwidth=1e10,
        )
    return rows


CELL = """
import linecache
text = "import minidynamo as torch\\n\\ndef f(x):\\n    y = x + 1\\n    print(end='')\\n    return y * 2\\n"
linecache.cache["<cell 1>"] = (len(text), None, text.splitlines(True), "<cell 1>")
space = {}
exec(compile(text, "<cell 1>", "exec"), space)
torch = space["torch"]
torch.compile(space["f"])(torch.ones(2))
"""


def test_source_without_a_file(tmp_path):
    report(tmp_path, CELL, "-o", "out.html", "--json", "out.json", ended=0)
    found = json.loads((tmp_path / "out.json").read_text())
    assert [frame["executed"] for frame in found["breaks"][0]["stack"]] == ["print(end='')"]
    assert "print(end='')" in read(tmp_path / "out.html").text
    assert found["entries"][1]["resume_code"].splitlines()[-2:] == ["    ___stack0", "    return y * 2"]


def test_everything_is_the_program(tmp_path):
    """What writes events is not compiled with it."""
    report(tmp_path, PROGRAM, "--everything", "-o", "out.html", "--json", "out.json", ended=0)
    found = json.loads((tmp_path / "out.json").read_text())
    assert not [f for f in found["functions"] if "/json/" in f["file"] or "_events" in f["file"]]
    assert {f["name"] for f in found["functions"]} >= {"noisy"}


def test_text_of_the_program_is_text(tmp_path):
    source = tmp_path / "evil<b>.py"
    source.write_text(f"x = 1 # {EVIL}".replace("\udcff", "") + "\n", encoding="utf-8")
    found = model([events_of(str(source))], Run([EVIL], 0, None, 1.0))
    data = page.render(found, [(EVIL, EVIL)])
    (tmp_path / "page.html").write_bytes(data)
    shown = read(tmp_path / "page.html")
    assert "img" not in shown.tags and shown.tags.count("script") == 2
    assert "<script>alert(1)</script>" in shown.text and b"\x00" not in data
    json.dumps(timeline.trace(found))


WEIRD = (None, -1, 10**30, 1.5, float("nan"), True, "", "x", "\ud800", [], [1, None], [[]], {}, {"a": 1}, [{"file": 1}],
         [{"file": "f", "line": 3, "function": "g", "column": "x", "end_column": None, "end_line": 3}])  # fmt: skip


@pytest.mark.parametrize("seed", range(12))
def test_fields_that_hold_something_else(tmp_path, seed):
    source = tmp_path / "program.py"
    source.write_text("def f(x):\n    return x.item()\n")
    drawn, rows = random.Random(seed), []
    for event in events_of(str(source), breaks=8, functions=4, text="text") * 3:
        names = [name for name in event if name != "kind"]
        for name in drawn.sample(names, drawn.randrange(len(names))):
            event = {**event, name: drawn.choice(WEIRD)}
            if drawn.random() < 0.2:
                del event[name]
        rows.append(event)
    found = model([rows, rows[:5]])
    (tmp_path / "page.html").write_bytes(page.render(found))
    read(tmp_path / "page.html")
    json.dumps([found, timeline.trace(found)], default=str)


def test_a_large_run_is_a_small_page(tmp_path):
    source = tmp_path / "large.py"
    source.write_text("".join(f"def f{k}(x): return x.item() # {'y' * 400}\n" for k in range(5000)))
    rows = events_of(str(source), breaks=4000, functions=1000, text="t" * 2000)
    started = time.perf_counter()
    data = page.render(model([rows]))
    assert len(data) < 10_000_000 and time.perf_counter() - started < 30
    (tmp_path / "page.html").write_bytes(data)
    text = read(tmp_path / "page.html").text
    assert "more that cost less are left out" in text


@pytest.mark.parametrize("file", ["", "<string>", "/dev/zero", "/no/such/file.py", "folder", "latin.py", "broken.py"])
def test_sources_that_are_not_there(tmp_path, file):
    (tmp_path / "folder").mkdir()
    (tmp_path / "latin.py").write_bytes(b"# coding: latin-1\nx = '\xe9'\n")
    (tmp_path / "broken.py").write_bytes(b"def f(:\n\xff\xfe\x00\n")
    path = file if not file or file[0] in "</" else str(tmp_path / file)
    (tmp_path / "page.html").write_bytes(page.render(model([events_of(path, breaks=3)])))
    read(tmp_path / "page.html")


@pytest.mark.parametrize("rows", [[], [[]], [[{"v": 1, "kind": "new kind", "time": 1.0}]], [[{"kind": "end"}]]])
def test_events_that_say_little(tmp_path, rows):
    (tmp_path / "page.html").write_bytes(page.render(model([row for row in rows if row])))
    assert "Nothing was compiled" in read(tmp_path / "page.html").text
