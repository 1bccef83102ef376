"""python -m minidynamo explain, and the registry as Python data."""

import pathlib
import subprocess
import sys
import tomllib

import pytest

from minidynamo import registry
from minidynamo.__main__ import main

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
    assert code in [b.code for b in registry.search(words)[:3]]


def test_search_lists_a_code_once_and_nothing_for_nonsense():
    codes = [b.code for b in registry.search("function builtin warning marked as skipped", limit=50)]
    assert len(codes) == len(set(codes)) and "GB0007" in codes
    assert registry.search("xyzzy") == []
    assert registry.search("") == []


def test_every_title_finds_its_code():
    for b in registry.all_breaks():
        assert b.code in [f.code for f in registry.search(b.type)[:5]], b.type


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
