"""python -m minidynamo explain, and the registry as Python data."""

import contextlib
import io
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


@pytest.mark.parametrize("arguments", [[], ["explain"], ["item"], ["--wrong"]])
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
