"""The command line as users type it: what is asked in odd ways, hostile text, outputs that are closed or full."""

import io
import json
import os
import re
import subprocess
import sys

import pytest

import minidynamo
from minidynamo.__main__ import main
from minidynamo._commands import printed, program_line
from minidynamo._commands.places import Places

PACKAGES = os.path.dirname(os.path.dirname(minidynamo.__file__))  # where the build under test lies
EVENT = (
    '{"kind":"break","code":"GB0059","type":"\\u001b[31mT","stack":[{"file":"\\u001b[2Jf","line":3,"function":"f"}]}'
)


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """An empty folder, which is the current one."""
    monkeypatch.chdir(tmp_path)
    for name in ("FORCE_COLOR", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def asked(capsys, monkeypatch, words, stdin=""):
    """(status, output, complaints)"""
    given = stdin if isinstance(stdin, bytes) else stdin.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), "utf-8", "surrogateescape"))
    try:
        status = main(words)
    except SystemExit as error:
        status = error.code
    return (status, *capsys.readouterr())


@pytest.mark.parametrize(
    ("words", "stdin", "status", "first"),
    [
        (["explain"], b"error \xff\xfe\0 GB0170 \x1b[31m", 0, "GB0170  Data-dependent branching"),
        (["explain", "-"], "x" * 3_000_000 + "\nGB0124\n", 0, "GB0124  "),
        (["explain"], b"\xff\xfe\0", 1, "Nothing in the registry matches '\\udcff\\udcfe\\x00'."),
        (["explain"], "(a+)+[[[((" * 100_000, 1, "Nothing in the registry matches"),
        (["explain", "\x1b[31mzzqqx\x1b[0m"], "", 1, "Nothing in the registry matches '\\x1b[31m"),
        (["expl", "GB0170"], "", 0, "GB0170  "),
        (["explain", "--li"], "", 0, "GB0000  "),
        (["explain", "https://x.org/?title=Data-dependent%20branching"], "", 0, "GB0170  Data-dependent branching\n\n"),
        (["explain", "https://x.org/#data-dependent-branching"], "", 0, "GB0170  Data-dependent branching\n\n"),
        (["explain"], "", 2, "usage: python -m minidynamo explain"),
        ([], "", 2, "usage: python -m minidynamo [-h]"),
        (["chec"], "", 2, "usage: python -m minidynamo check"),
        (["\x1b[2J"], "", 2, "usage: python -m minidynamo"),
        (["explain", "none.json"], "", 2, "There is no file none.json."),
    ],
)
def test_what_is_asked(capsys, monkeypatch, words, stdin, status, first):
    ended, out, err = asked(capsys, monkeypatch, words, stdin)
    assert ended == status and (out if status == 0 else err).startswith(first), (out[:200], err[:500])
    assert "\x1b" not in out + err and (out == "") == (status != 0) and len(err) < 1000


def test_help_of_each_command(capsys, monkeypatch):
    for words in (["--help"], ["explain", "--help"], ["run", "--help"], ["check", "--help"]):
        status, out, err = asked(capsys, monkeypatch, words)
        assert (status, err) == (0, "") and "python -m minidynamo " in out.partition("\n")[2], words
        assert len(words) == 1 or ("examples:" in out and "exit status:" in out)


FILES = {
    "events.jsonl": (EVENT + "\n" + EVENT + "\n" + EVENT[:50], 0, "    2x  GB0059  \\x1b[2Jf:3  \\x1b[31mT\n"),
    "events/one.jsonl": (EVENT, 0, "    1x  GB0059  "),
    "check.json": (
        '{\n"findings": [{"times": 7, "rule": "limit", "file": "f", "line": 1, "title": "t"}]\n}\n',
        0,
        "    7x  -       f:1  t",
    ),
    "train.log": ("step 1\nGraph break, see gb0170.html\n", 0, "GB0170  "),
    "some.txt": ("nothing here", 2, "some.txt names no code"),
    "cut.jsonl": ('{"kind":"break"}', 2, "cut.jsonl names no code"),
    "places.json": ('{"places":[1]}', 2, "places.json names no code"),
    "deep.json": ("[" * 200_000, 2, "deep.json names no code"),
    "bytes.json": (b"\x00\xff\xfe" * 1000, 2, "bytes.json names no code"),
}


@pytest.mark.parametrize("name", FILES)
def test_files_that_are_explained(capsys, monkeypatch, name):
    content, status, first = FILES[name]
    folder, _, _ = name.rpartition("/")
    os.makedirs(folder or ".", exist_ok=True)
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())
    ended, out, err = asked(capsys, monkeypatch, ["explain", folder or name])
    assert ended == status and (out or err).startswith(first)
    if name == "events.jsonl":
        rows = json.loads(asked(capsys, monkeypatch, ["explain", "--json", name])[1])
        assert rows == [{"times": 2, "code": "GB0059", "file": "\\x1b[2Jf", "line": 3, "title": "\\x1b[31mT"}]


CLOSED = """\
import io, os, sys
from minidynamo._commands import printed
class Broken(io.StringIO):
    def write(self, text):
        raise self.error
ended = []
for error in (OSError(28, "full"), BrokenPipeError(), ValueError("closed")):
    sys.stdout = Broken()
    sys.stdout.error = error
    ended.append(printed.say("text"))
sys.stdout = None
ended.append(printed.say("text"))
sys.stderr = None
ended.append(printed.say("text", 2))
os.write(1, repr(ended).encode())
"""


def test_outputs_that_are_closed_or_full():
    done = subprocess.run([sys.executable, "-c", CLOSED], capture_output=True, text=True, env={"PYTHONPATH": PACKAGES})
    assert done.stdout == "[1, 0, 1, 1, 2]"
    assert done.stderr == "".join(
        f"python -m minidynamo: {why}\n" for why in ("full", "closed", "the standard stream is closed")
    )


def test_characters_that_an_output_cannot_hold():
    out = io.TextIOWrapper(io.BytesIO(), "ascii")
    printed.write("é \udc80 a", out)
    assert out.buffer.getvalue() == b"\\xe9 \\udc80 a\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 漢 👍", "plain é 漢 👍"),
        ("a\x1b[2Jb\x07\x9b\x7f", "a\\x1b[2Jb\\x07\\x9b\\x7f"),
        ("a\nb\rc\td", "a b c    d"),
        ("\u202etxt\u2066\u2028\udc80\U000e0001", "\\u202etxt\\u2066\\u2028\\udc80\\U000e0001"),
        ("👩\u200d💻", "👩\u200d💻"),
        ("<b>&amp;", "<b>&amp;"),
    ],
)
def test_harmless_text(text, shown):
    assert printed.harmless(text) == shown
    assert printed.harmless("x" * 100, 10) == "xxxxxxx..."
    assert printed.harmless("a\n\x1bb", lines=True) == "a\n\\x1bb"


def test_colours(capsys, monkeypatch):
    plain = asked(capsys, monkeypatch, ["explain", "GB0170"])
    monkeypatch.setenv("FORCE_COLOR", "1")
    coloured = asked(capsys, monkeypatch, ["explain", "GB0170"])
    assert "\x1b[" in coloured[1] and re.sub(r"\x1b\[[\d;]*m", "", coloured[1]) == plain[1]
    monkeypatch.setenv("NO_COLOR", "1")
    assert asked(capsys, monkeypatch, ["explain", "GB0170"]) == plain
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setitem(sys.modules, "rich.console", None)  # not installed
    assert asked(capsys, monkeypatch, ["explain", "GB0170"]) == plain


def test_where_the_program_begins():
    from minidynamo.__main__ import _modules, _parser

    sub = _parser(_modules([]))[1]["check"]
    for line, ours in (
        ("check --json - a.py --json x", 4),
        ("check --json=x -q a.py -q", 4),
        ("check --js x a.py", 4),
        ("check -q -m pytest -q -m slow", 4),
        ("check --everything --as-torch -m m", 5),
        ("check -- a.py -x", 2),
        ("check", 1),
    ):
        words = line.split()
        first, rest = program_line.split(words, sub)
        assert (len(first), len(rest)) == (ours, len(words) - ours - ("--" in words)), line


def test_names_of_places(place, monkeypatch):
    for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR"):
        monkeypatch.delenv(name, raising=False)
    (place / ".git").mkdir()
    (place / "inner").mkdir()
    places = Places(str(place / "inner"))
    assert places.relative("a.py") == "inner/a.py" and places.shown(str(place / "inner/a.py")) == "a.py"
    assert places.uri("ä b\udcff:%?#.py") == ("inner/%C3%A4%20b%FF%3A%25%3F%23.py", True)
    assert places.uri("/a b.py") == ("file:///a%20b.py", False) and places.relative("/a b.py") is None
    assert places.uri("<string>") is None and places.relative("a\0b") is None and places.shown("<string>") == "<string>"
    assert places.is_own("a.py") and places.is_own("<string>") and not places.is_own("<frozen os>")
    installed = (os.__file__, minidynamo.__file__, "/x/lib/python3.11/site-packages/m.py")
    assert not any(places.is_own(file) for file in installed)
    (place / "inner/c.py").write_text("# coding: latin-1\né = 1\f\n", encoding="latin-1")
    assert (
        places.text("c.py", 2) == "é = 1\f"
        and places.column("c.py", 2, 3) == 2
        and places.column("c.py", 2, 99) is None
    )
    os.mkfifo(place / "inner/pipe")
    assert places.text("pipe", 1) == places.text("none.py", 1) == places.text("c.py", 9) == ""
    monkeypatch.setenv("GITHUB_WORKSPACE", str(place / "inner"))
    assert Places(str(place / "inner")).relative("a.py") == "a.py"
