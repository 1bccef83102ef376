"""python -m minidynamo explain, and the registry as Python data."""

import contextlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import textwrap
import tomllib
import warnings

import pytest

import minidynamo
import minidynamo as torch
from minidynamo import registry
from minidynamo.__main__ import main
from minidynamo.registry import programs, search

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = str(pathlib.Path(registry.__file__).parents[2])  # where the build under test lies


def test_compiled_table_equals_the_file():
    table = tomllib.loads((ROOT / "registry/graph_breaks.toml").read_text())["break"]
    assert [b.code for b in registry.all_breaks() if b.id == b.code] == [row["code"] for row in table]
    for row in table:
        b = registry.lookup(row["code"])[0]
        named = {arg: f"<{arg}>" for arg in row.get("args", ())}
        assert (b.type, b.area, b.kind) == (row["type"], row["area"], row["class"])
        assert b.explanation == row["explanation"].format(**named)
        assert b.context == row.get("context", "").format(**named)
        assert list(b.hints) == [hint.format(**named) for hint in row["hints"]]


@pytest.mark.parametrize("code", ["GB0124", "gb0124", "124", " GB124 "])
def test_lookup(code):
    assert registry.lookup(code)[0].type == "Unsupported Tensor.item() call with capture_scalar_outputs=False"


@pytest.mark.parametrize("code", ["GB9999", "222", "GB", "", "item"])
def test_lookup_of_unknown_code(code):
    with pytest.raises(KeyError):
        registry.lookup(code)


@pytest.mark.parametrize(
    "words, code",
    [
        ("tensor item", "GB0124"),
        ("data dependent branch", "GB0170"),
        ("graph_break", "GB0025"),
        ("generator compiled", "GB0003"),
        ("deepcopy", "GB0179"),
        ("Tensor.backward()", "GB0123"),
        ("context manager", "GB0142"),
        ("recompile limit cache exceeded", "GB0039"),
    ],
)
def test_search_finds(words, code):
    assert code in [b.code for b in search.search(words)[:3]]


def test_search_lists_a_code_once_and_nothing_for_nonsense():
    codes = [b.code for b in search.search("function builtin warning marked as skipped", limit=50)]
    assert len(codes) == len(set(codes)) and "GB0007" in codes
    assert search.search("xyzzy") == []
    assert search.search("") == []


def test_every_title_finds_its_code():
    for b in registry.all_breaks():
        assert b.code in [f.code for f in search.search(b.type)[:5]], b.type


def test_page(capsys):
    assert main(["explain", "GB0124"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("GB0124  Unsupported Tensor.item() call with capture_scalar_outputs=False\n")
    for part in ("What happened", "What to do", "capture_scalar_outputs", "<self>", "/gb/gb0124.html"):
        assert part in out


def test_page_of_a_code_with_several_texts(capsys):
    assert main(["explain", "7"]) == 0
    out = capsys.readouterr().out
    assert out.count("What happened") == 4 and "What happened (builtin)" in out and "What happened (numpy)" in out


def test_title_gives_the_page(capsys):
    assert main(["explain", "data-dependent", "branching"]) == 0
    assert capsys.readouterr().out.startswith("GB0170  ")


def test_words_give_a_list(capsys):
    assert main(["explain", "sparse", "tensor"]) == 0
    assert "GB0015  Attempted to wrap sparse Tensor\n" in capsys.readouterr().out


@pytest.mark.parametrize("words, status, text", [(["GB0999"], 2, "GB0000 to GB0221"), (["xyzzy"], 1, "Nothing")])
def test_nothing_found(words, status, text, capsys):
    assert main(["explain", *words]) == status
    captured = capsys.readouterr()
    assert captured.out == "" and text in captured.err


def test_as_a_command():
    path = PACKAGES
    done = subprocess.run(
        [sys.executable, "-m", "minidynamo", "explain", "GB0170"], capture_output=True, text=True, cwd=path
    )
    assert done.returncode == 0 and "torch.where" in done.stdout
    done = subprocess.run([sys.executable, "-m", "minidynamo"], capture_output=True, text=True, cwd=path)
    assert done.returncode == 2 and "usage" in done.stderr


def test_reader_that_stops_early():
    command = f"{sys.executable} -m minidynamo explain GB0007 | head -n 1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=PACKAGES)
    assert done.stdout.startswith("GB0007") and done.stderr == ""


def test_several_codes(capsys):
    assert main(["explain", "GB0170", "gb0007"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("GB0170") and "\n\nGB0007  " in out
    assert main(["explain", "GB0170", "GB0999"]) == 2


@pytest.mark.parametrize(
    "words",
    [
        ["GB0170"],
        ["gb170"],
        ["0170"],
        ["https://pytorch-labs.github.io/compile-graph-break-site/gb/gb0170.html"],
        ["For more details, please visit: https://pytorch-labs.github.io/compile-graph-break-site/gb/gb0170.html"],
        ["explain", "https://example.org/gb/gb0170.html"],
        ["explain", "torch._dynamo.exc.Unsupported:", "Data-dependent", "branching", "(GB0170)"],
        ["explain", 'raise Unsupported("GB0170: Data-dependent branching")'],
    ],
)
def test_a_code_is_found_wherever_it_stands(words, capsys):
    assert main(words) == 0
    assert capsys.readouterr().out.startswith("GB0170  Data-dependent branching\n")


def test_several_codes_in_one_text(capsys):
    assert main(["GB0170", "GB0124"]) == 0
    assert main(["explain", "first gb0170.html, then GB0124 and GB0170 again"]) == 0
    out = capsys.readouterr().out
    assert [line[:6] for line in out.splitlines() if line.startswith("GB")] == ["GB0170", "GB0124"] * 2


def test_list_and_version(capsys):
    assert main(["explain", "--list"]) == 0
    rows = capsys.readouterr().out.splitlines()
    assert rows == [f"{b.code}  {b.type}" for b in registry.all_breaks() if b.id == b.code] and len(rows) == 222
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"minidynamo {minidynamo.__version__}\n"


@pytest.mark.parametrize("arguments", [[], ["explain"], ["explain", "\n" * 50], ["item"], ["--wrong"]])
def test_usage(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2 and "usage: python -m minidynamo" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", ["explain GB0170", "explain --list", "--version", "GB0170"])
def test_output_that_cannot_be_written(arguments):
    command = f"{sys.executable} -m minidynamo {arguments} > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=PACKAGES)
    assert done.returncode == 1 and done.stderr == "python -m minidynamo: No space left on device\n"


# One is about NumPy not being there, one about traces that do not settle.
WITHOUT_A_PROGRAM = {"GB0052", "GB0106"}


def test_every_raised_code_has_a_program():
    missing = {b.code for b in registry.all_breaks() if b.status == "raised" and programs.pair(b.code) is None}
    assert missing == WITHOUT_A_PROGRAM


def printed_codes(text):
    """What a program breaks with, run as it is shown, whatever it raises."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    seen = []
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            exec(compile(text, "<shown>", "exec"), {"__name__": "shown"})
        except Exception as error:  # noqa: BLE001  some programs fail in plain Python as well
            while error is not None:
                seen.append(error)
                error = error.__cause__ or error.__context__
    seen += [message for kind in ("graph_break", "unimplemented") for message in torch._dynamo.utils.counters[kind]]
    return {code.upper() for message in seen for code in re.findall(r"gb/(gb\d{4})", str(message))}


@pytest.mark.parametrize(
    "code", ["GB0007", "GB0033", "GB0070", "GB0071", "GB0091", "GB0124", "GB0156", "GB0170", "GB0207"]
)
def test_programs_are_shown_that_break_and_that_do_not(code, capsys):
    assert main(["explain", "--fix", code]) == 0
    shown = capsys.readouterr().out
    before, after = programs.pair(code).before, programs.pair(code).after
    for text in (before, after):
        assert textwrap.indent(text, "    ") in shown
    assert code in printed_codes(before)
    assert printed_codes(after) == set()


@pytest.mark.parametrize("code", ["GB0034", "GB0039", "GB0149"])
def test_what_only_one_graph_tells_of_is_shown_with_it(code):
    assert "fullgraph=True" in programs.pair(code).before and code in printed_codes(programs.pair(code).before)
    assert "fullgraph" not in programs.pair(code).after


def test_codes_that_nothing_raises_say_so(capsys):
    assert main(["explain", "--fix", "GB0065"]) == 0
    assert "There is no program for this code: never raised" in capsys.readouterr().out


# What users type, and the code that is meant: among the first so many.
ASKED = [
    ("print", "GB0059", 1),
    (".item", "GB0124", 1),
    ("x.item()", "GB0124", 1),
    ("itme", "GB0124", 1),
    ("if x.sum() > 0", "GB0170", 1),
    ("if x.sum() > 0:", "GB0170", 1),
    ("while (x > 1).any():", "GB0170", 1),
    ("data dependant branching", "GB0170", 1),
    ("torch.nonzero(x)", "GB0036", 1),
    ("boolean mask indexing", "GB0036", 1),
    ("assert x.sum() > 0", "GB0034", 1),
    ("deepcoppy", "GB0179", 1),
    ("loss.backward()", "GB0123", 1),
    ("numpy", "GB0105", 2),
    ("time.time()", "GB0007", 1),
    ("open file", "GB0059", 1),
    ("breakpoint", "GB0059", 1),
    ("cache_size_limit", "GB0039", 1),
    ("cache size limit", "GB0039", 1),
    ("yield", "GB0003", 1),
    ("raise ValueError", "GB0088", 1),
    ("try except", "GB0088", 1),
    ("with threading.Lock():", "GB0142", 1),
    ("conttext manager", "GB0142", 1),
    ("hook", "GB0029", 3),
    ("import inside function", "GB0069", 1),
    ("tolist", "GB0109", 1),
    ("requires_grad_", "GB0125", 1),
    ("sorted key", "GB0207", 1),
    ("LSTM", "GB0014", 1),
    ("self.x = x", "GB0096", 1),
    ("isinstance", "GB0175", 1),
]


@pytest.mark.parametrize("words, code, among", ASKED)
def test_what_users_ask_for_comes_first(words, code, among):
    assert code in [b.code for b in search.search(words)[:among]]


@pytest.mark.parametrize(
    "text", ["<script>alert(1)</script>", "(" * 5000, "[a-z]+(?:", "\x00", "a" * 100_000, "if " * 900, "GB"]
)
def test_hostile_text_is_searched_like_any(text, capsys):
    assert main(["explain", text]) in (0, 1, 2)
    said = capsys.readouterr()
    assert "Traceback" not in said.err and len(said.out + said.err) < 20_000


def test_a_program_that_runs(capsys):
    assert main(["explain", "--run", "GB0059"]) == 0
    out = capsys.readouterr().out
    assert "It breaks (resumed):" in out and 'File "GB0059.py", line 7, in step' in out
    assert "Hint: Call `print`" in out and "step finished" in out
    assert main(["explain", "--run", "GB0035"]) == 0
    assert main(["explain", "--run", "GB0199"]) == 1  # it is not raised


def test_a_fix_with_its_graph_and_what_it_saves(capsys):
    assert main(["explain", "--fix", "GB0170"]) == 0
    out = capsys.readouterr().out
    graph = out[out.index("def forward") :]
    assert "torch.where(gt, truediv, mul)" in graph and "/tmp" not in graph
    times = re.search(r"A call of program\(\) takes ([\d.]+) us with the break, ([\d.]+) us without", out)
    assert all(float(time) > 0 for time in times.groups())


def test_answers_as_json(capsys):
    assert main(["explain", "--json", "GB0124"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["code"], row["area"], row["kind"]) == ("GB0124", "tensors", "supportable")
    assert main(["explain", "--json", "print"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["code"] == "GB0059"
    assert main(["explain", "--json", "xyzzy"]) == 1


def test_areas(capsys):
    assert main(["explain", "--area", "control-flow"]) == 0
    assert "GB0170  Data-dependent branching" in capsys.readouterr().out.splitlines()
    assert main(["explain", "--area", "weather"]) == 1
    assert "control-flow" in capsys.readouterr().err


PROGRAM = """
import minidynamo as torch

@torch.compile
def f(x):
    y = x + 1
    print(end="")
    return y * 2 if y.sum() > 0 else y

f(torch.ones(2))
"""


def run_command(*arguments, place, given="", **environment):
    return subprocess.run(
        [sys.executable, "-m", "minidynamo", *arguments], cwd=place, capture_output=True, text=True, input=given,
        env={**os.environ, "PYTHONPATH": PACKAGES, **environment},
    )  # fmt: skip


def test_reports_traces_and_tracebacks(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    done = run_command("run", "--report", "r.json", "program.py", place=tmp_path, MINIDYNAMO_TRACE="trace")
    assert done.returncode == 0, done.stderr
    (trace,) = (tmp_path / "trace").iterdir()
    for file in ("r.json", str(trace)):
        said = run_command("explain", file, place=tmp_path)
        rows = [line.split()[:2] for line in said.stdout.splitlines() if "program.py:" in line]
        assert rows == [["1x", "GB0059"], ["1x", "GB0170"]], said
        assert "program.py:7  Failed to trace builtin operator" in said.stdout
        rows = json.loads(run_command("explain", "--json", file, place=tmp_path).stdout)
        assert [(row["code"], row["line"]) for row in rows] == [("GB0059", 7), ("GB0170", 8)]
    failed = run_command("-c", "", place=tmp_path)
    assert failed.returncode == 2
    program = PROGRAM.replace("@torch.compile", "@torch.compile(fullgraph=True)")
    raised = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": PACKAGES}
    )
    for arguments in (("explain",), ("explain", "-")):
        said = run_command(*arguments, place=tmp_path, given=raised.stderr)
        assert said.stdout.startswith("GB0059  "), said
    assert run_command("explain", place=tmp_path).returncode == 2
    assert run_command("explain", "absent.json", place=tmp_path).returncode == 2


def test_a_full_disk():
    command = f"{sys.executable} -m minidynamo explain GB0007 > /dev/full"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=PACKAGES)
    assert (done.returncode, done.stderr) == (1, "python -m minidynamo: No space left on device\n")
