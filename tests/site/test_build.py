"""The command that builds the site, and what stands in its files: no browser is needed."""

import html.parser
import json
import os
import pathlib
import re
import resource
import signal
import subprocess
import sys
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree

import pytest

from minidynamo import registry
from minidynamo._site import diagrams, documents, markup, scenarios
from minidynamo.registry import programs

PACKAGES = str(pathlib.Path(registry.__file__).parents[2])  # where the build under test lies
CODES = sorted({b.code for b in registry.all_breaks()})


class Page(html.parser.HTMLParser):
    """Links and anchors of a page, its text, and the order of its headings."""

    def __init__(self, path):
        super().__init__()
        self.links, self.anchors, self.headings, self.scripts, self.words = [], set(), [], [], []
        self.feed(path.read_text(encoding="utf-8"))
        self.text = "".join(self.words)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        assert not any(name.startswith("on") or name == "style" for name in given), given
        self.links += [given[name] for name in ("href", "src") if name in given]
        self.anchors |= {given["id"]} if "id" in given else set()
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if tag == "script":
            self.scripts.append(given.get("src"))

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture(scope="module")
def pages(site):
    return {path.relative_to(site).as_posix(): Page(path) for path in sorted(site.rglob("*.html"))}


def test_there_is_a_page_for_each_code(site, pages):
    assert {f"gb/{code.lower()}.html" for code in CODES} == {name for name in pages if name.startswith("gb/")}
    assert (site / "gb/gb0170.html").is_file()  # where the pages have always stood
    listed = pages["index.html"].links
    assert [name for name in pages if name.startswith("gb/") and name not in listed] == []


def test_every_link_goes_somewhere(pages, site):
    broken = []
    for name, page in pages.items():
        for link in page.links:
            address = urllib.parse.urlsplit(link)
            if address.scheme:
                assert address.scheme in ("http", "https"), link
                continue
            target = name
            if address.path:
                target = os.path.normpath(os.path.join(os.path.dirname(name), urllib.parse.unquote(address.path)))
            if not (site / target).is_file():
                broken.append((name, link))
            elif address.fragment and urllib.parse.unquote(address.fragment) not in pages[target].anchors:
                broken.append((name, link))
    assert broken == []


def test_pages_are_well_made(pages):
    for name, page in pages.items():
        levels = page.headings
        assert levels[0] == 1 and levels.count(1) == 1, name
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:])), (name, levels)
        assert None not in page.scripts, name  # no script in a page itself
    text = "".join(path for page in pages.values() for path in page.links if "javascript:" in path.lower())
    assert text == ""


def test_page_of_a_code(pages):
    page = pages["gb/gb0170.html"].text
    shown = programs.pair("GB0170")
    for part in (
        "Data-dependent branching", "control-flow", "fundamental", "raised by this compiler",
        "The branch taken depends on", "torch.where(condition, a, b)", "attempted to jump with TensorVariable()",
        shown.before, shown.after, "def forward(self, L_x_", "Its 2 graphs", "tensor([2.0000, 1.5000])",
        "Resumed: a new graph goes on after it.", "What it costs", "Related codes", "minidynamo 0.1.0",
        "3.11, 3.12 and 3.13",
    ):  # fmt: skip
        assert part in page, part
    assert re.search(r"with the break\s*[\d.]+ [mu]?s\s*without\s*[\d.]+ [mu]?s", page)


def test_pages_of_other_kinds(pages):
    several = pages["gb/gb0007.html"].text
    assert several.count("What happened") == 4 and "What happened (builtin)" in several
    assert "implementation found for" in pages["gb/gb0000.html"].text  # what the program ends with
    assert "There is no program for this code" in pages["gb/gb0052.html"].text
    assert "It was not run when this page was built." in pages["gb/gb0171.html"].text


def test_codes_of_other_pythons_are_no_failures(pages):
    page = pages["gb/gb0079.html"].text
    assert ("does not raise this code" in page) == (sys.version_info < (3, 12))
    assert "def keep[T](value: T)" in page and "SyntaxError" not in page
    assert "did not run as it should" not in page


def test_pages_of_the_api(pages):
    linalg = pages["api/torch.linalg.html"]
    assert {"cross", "svd", "LinAlgError"} <= linalg.anchors and "FunctionType" not in linalg.anchors
    assert re.search(r"svd\(\w+, full_matrices=True", linalg.text)
    assert "torch.autograd.gradcheck.GradcheckError" in pages["api/further-names.html"].anchors
    for page, name in (("torch", "sin"), ("torch.tensor", "add_"), ("torch.optim", "Adam"), ("torch.fft", "fft"),
                       ("torch.utils.data", "DataLoader"), ("torch.nn.utils.rnn", "pad_sequence")):  # fmt: skip
        assert name in pages[f"api/{page}.html"].anchors
        assert f"{page}.html" in pages["api/index.html"].links
    assert "Dtypes" in linalg.text and "Lacks" in pages["api/torch.special.html"].text


def test_registry_as_the_reference_writes_it(site):
    rows = json.loads((site / "graph_break_registry.json").read_text())
    assert list(rows) == CODES
    for texts in rows.values():
        for text in texts:
            assert list(text) == ["Gb_type", "Context", "Explanation", "Hints"]
    assert rows["GB0000"][0]["Context"] == "fn={fn}, args={args}, kwargs={kwargs}"
    assert len(rows["GB0007"]) == 4


def test_sitemap(site, pages):
    space = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
    rows = ElementTree.parse(site / "sitemap.xml").getroot().findall(f"{space}url/{space}loc")
    found = [row.text.removeprefix("https://example.org/breaks/") for row in rows]
    assert set(found) == set(pages) - {"404.html", "sitemap.html"} and len(found) == len(set(found))
    assert "https://example.org/breaks/index.html" in pages["404.html"].links


def test_index_in_a_script(site):
    text = (site / "search-index.js").read_text()
    data = json.loads(text.removeprefix("window.minidynamoIndex = ").removesuffix(";\n"))
    assert {row[0] for row in data["rows"]} == set(CODES)


# ---- the command -------------------------------------------------------------------------------------------------


def test_the_same_again_and_over_an_older_one(tmp_path, command):
    """The same bytes without times, by one job or three; what an older site has left is gone."""
    one, two = tmp_path / "one", tmp_path / "two"
    two.mkdir()
    for out, jobs in ((one, 1), (two, 3)):
        done = command(out, "--only", "GB0039,GB0219,25", "--no-timing", "--jobs", jobs)
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
    files = {p.relative_to(one) for p in one.rglob("*") if p.is_file()}
    assert files == {p.relative_to(two) for p in two.rglob("*") if p.is_file()}
    assert [name for name in files if (one / name).read_bytes() != (two / name).read_bytes()] == []
    (one / "old.html").touch()
    assert command(one, "--only", "25", "--no-timing").returncode == 0
    assert not (one / "old.html").exists() and os.listdir(tmp_path).count("one") == 1
    assert sorted(os.listdir(tmp_path)) == ["one", "two"]  # nothing is left beside them


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda top: top / "none" / "out", "is not a folder"),
        (lambda top: (top / "file").write_text("") or top / "file", "is a file"),
        (lambda top: (top / "notes.txt").write_text("mine") and top, "not of a site made by this command"),
        (lambda top: pathlib.Path("/proc/site"), "nothing can be written in /proc"),
    ],
    ids=["no parent", "file", "other files", "unwritable"],
)
def test_folders_that_cannot_be(tmp_path, command, make, text):
    done = command(make(tmp_path))
    assert done.returncode == 2 and text in done.stderr and "Traceback" not in done.stderr
    assert done.stdout == "" and len(list(tmp_path.rglob("*"))) <= 1


@pytest.mark.parametrize(
    "arguments, text",
    [
        (("--only", "GB9999"), "GB9999 is not in the registry"),
        (("--jobs", "0"), "--jobs"),
        (("--url", "javascript:alert(1)"), "--url is no address"),
    ],
)
def test_arguments_that_cannot_be(tmp_path, command, arguments, text):
    done = command(tmp_path / "out", *arguments)
    assert done.returncode == 2 and text in done.stderr
    assert not (tmp_path / "out").exists()


def test_full_disk(tmp_path, command):
    """Files that may not grow: the error names one, and nothing is there."""
    script = "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (50000, 50000)); "
    script += "import signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
    script += "from minidynamo.__main__ import main; sys.exit(main(sys.argv[1:]))"
    done = command(tmp_path / "out", "--only", "25", "--no-timing", program=("-c", script))
    assert done.returncode == 1 and "cannot be written: File too large" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted(tmp_path, number):
    """Nothing is written, nobody is left running."""
    env = {**os.environ, "PYTHONPATH": PACKAGES}
    run = subprocess.Popen(
        [sys.executable, "-m", "minidynamo", "site", str(tmp_path / "out")],
        env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),  # shells ignore SIGINT in what they run behind
    )  # fmt: skip
    deadline = time.monotonic() + 30
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.5)
    listed = pathlib.Path(f"/proc/{run.pid}/task/{run.pid}/children")
    children = listed.read_text().split() if listed.exists() else []
    run.send_signal(number)
    out, err = run.communicate(timeout=30)
    assert run.returncode == 130 and "nothing was written" in err and "Traceback" not in err
    assert out == "" and list(tmp_path.iterdir()) == []
    assert [child for child in children if os.path.exists(f"/proc/{child}")] == []


def test_without_the_packages(tmp_path, command):
    (tmp_path / "jinja2.py").write_text("raise ModuleNotFoundError('none', name='jinja2')")
    done = command(tmp_path / "out", PYTHONPATH=f"{tmp_path}{os.pathsep}{PACKAGES}")
    assert done.returncode == 2 and "pip install 'minidynamo[tools]'" in done.stderr


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_every_program_runs_as_its_page_says(tmp_path, command):
    """All of them, timed: none fails, and two processors build it in a minute."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = command(tmp_path / "out", "--strict", "--jobs", 2)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert (done.returncode, done.stderr) == (0, "")
    # Processor time, which other work on the machine changes little.
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 2 * 60


# ---- its parts ---------------------------------------------------------------------------------------------------


def played(monkeypatch, code, before, after=None):
    class Shown:
        about = "It <b>says</b> so."

    Shown.before, Shown.after = before, after
    monkeypatch.setattr(programs, "pair", lambda code: Shown)
    return scenarios.play_all([code], 1, timed=False)[code]


@pytest.mark.parametrize(
    "before, after, failure",
    [
        ("print(1)", None, "did not break with GB0170"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", None, "did not break"),
        (programs.pair("GB0170").before, "1 / 0", "failed: ZeroDivisionError: division by zero"),
        (programs.pair("GB0170").before, programs.pair("GB0170").before, "still has GB0170"),
        ("1 +", None, "did not break with GB0170: SyntaxError: invalid syntax"),
        ("import os, signal; os.kill(os.getppid(), signal.SIGKILL)", None, "could not be run: RuntimeError"),
        ("import sys; sys.exit('gone')", None, "did not break with GB0170: gone"),
    ],
)
def test_scenarios_that_fail(monkeypatch, before, after, failure):
    scenario = played(monkeypatch, "GB0170", before, after)
    assert failure in " ".join(scenario.failures)


def test_a_program_that_ends_the_others_process(monkeypatch):
    """What comes after it runs in a new one."""
    whole = programs.pair

    def pair(code):
        shown = whole(code)
        if code == "GB0124":
            shown.before = "import os, signal; os.kill(os.getppid(), signal.SIGKILL)"
        return shown

    monkeypatch.setattr(programs, "pair", pair)
    played = scenarios.play_all(["GB0124", "GB0170"], 1, timed=False)
    assert played["GB0124"].failures and played["GB0170"].failures == [] and played["GB0170"].before.breaks


def test_programs_that_hang_are_ended(monkeypatch):
    from minidynamo._commands import forked

    with forked.Forks(seconds=0.5) as forks:
        scenario = scenarios.Scenario("GB0170")
        monkeypatch.setattr(scenario.shown, "before", "import time; time.sleep(60)")
        scenario.play(forks.run, 0)
        assert scenario.before.status == 124 and "more than 0.5 seconds" in scenario.failures[0]
        assert forks.run([str(pathlib.Path(os.devnull))]).returncode == 0  # the next one runs


def test_a_fork_is_like_a_process(tmp_path):
    """Output, errors, exit status, arguments and the module's name, as in a process of its own."""
    from minidynamo._commands import forked, live

    program = tmp_path / "p.py"
    lines = ("import sys, atexit", "print(__name__, __file__, sys.argv, sys.stdin.read())",
             "atexit.register(print, 'end')", "print('x', file=sys.stderr)", "raise ValueError('no')")  # fmt: skip
    program.write_text("\n".join(lines))
    with forked.Forks() as forks:
        ours = forks.run([str(program)])
    theirs = live.process([str(program)], PYTHONHASHSEED="0")
    assert (ours.returncode, ours.stdout, ours.stderr) == (theirs.returncode, theirs.stdout, theirs.stderr)


HOSTILE = "</script><img src=x onerror=alert(1)> `<b>` {{ 7 * 7 }} https://example.org/<b>"


def test_texts_become_no_markup():
    shown = markup.inline(HOSTILE)
    assert "<img" not in shown and "<b>" not in shown.replace("<code>&lt;b&gt;</code>", "") and "{{ 7 * 7 }}" in shown
    assert '<a href="https://example.org/">' in shown
    assert "<a" not in markup.inline("javascript:alert(1)")
    for language in ("python", "text", "no such language"):
        assert "<img" not in markup.coloured(HOSTILE, language)
    assert "<img" not in markup.paragraphs(f"{HOSTILE}\n\n    {HOSTILE}\n\n>>> {HOSTILE}")


DOCUMENT = """\
# A title with `code`

Text <b onclick="x()">bold</b> <script>alert(1)</script><br>more <!-- not shown -->

[other](guide/first.md#a-part) [API](api.md) [source](../python/minidynamo/func.py) [out](https://example.org)
[bad](javascript:alert(1)) [here](#a-part) ![picture](picture.png) ![away](https://example.org/x.png)

## A part

## A part

| a | b |
|---|---|
| `x` | y |

```mermaid
graph BT
  a[first one] --> b
  b --> c
```

```mermaid
sequenceDiagram
  A->>B: <b>hello</b>
```

    import this
"""


@pytest.fixture
def checkout(tmp_path):
    (tmp_path / "docs/guide").mkdir(parents=True)
    (tmp_path / "docs/zz.md").write_text(DOCUMENT)
    (tmp_path / "docs/guide/first.md").write_text("# First\n\n## A part\n\n[up](../zz.md)\n")
    (tmp_path / "docs/picture.png").write_bytes(b"")
    (tmp_path / "docs/api.md").write_text("# API\n")
    (tmp_path / "README.md").write_text("# Readme\n\n[docs](docs/zz.md), [guide](docs/guide)\n")
    return documents.found(tmp_path)


def test_documents_by_name(checkout):
    assert [d.page for d in checkout] == ["docs/index.html", "docs/guide/first.html", "docs/zz.html"]
    assert 'href="zz.html"' in checkout[0].body and 'href="../zz.html"' in checkout[1].body
    assert 'href="docs/guide"' not in checkout[0].body


def test_documents_in_the_order_of_their_list(tmp_path, checkout):
    (tmp_path / "docs/README.md").write_text("# All\n\n[zz](zz.md), [reference](reference/README.md)\n")
    (tmp_path / "docs/reference").mkdir()
    (tmp_path / "docs/reference/README.md").write_text("# Reference\n\n[b](b.md), [a](a.md), [up](..)\n")
    for name in "ab":
        (tmp_path / f"docs/reference/{name}.md").write_text(f"# {name}\n")
    found = documents.found(tmp_path)
    assert [d.page.removeprefix("docs/") for d in found] == [
        "index.html", "readme.html", "zz.html", "reference/index.html", "reference/b.html", "reference/a.html",
        "guide/first.html",
    ]  # fmt: skip
    assert 'href="../index.html"' in found[3].body
    groups = [(folder, len(of)) for folder, of in documents.by_folder(found)]
    assert groups == [("", 2), ("reference", 3), ("guide", 1), ("more", 1)]


def test_headings_are_put_in_order(tmp_path, checkout):
    (tmp_path / "docs/a.md").write_text("## First\n\n#### Deep\n\n# Another title\n")
    (tmp_path / "docs/b.md").write_text("No heading at all.\n")
    a, b = [d for d in documents.found(tmp_path) if d.page in ("docs/a.html", "docs/b.html")]
    assert re.findall(r"<(h\d)", a.body) == ["h1", "h2", "h2"] and a.title == "First"
    assert b.body.startswith("<h1>b</h1>")


def test_without_documents(tmp_path, monkeypatch):
    """An installed package has none: the codes are there."""
    from minidynamo._site import api, build, output

    (tmp_path / "none").mkdir()
    assert documents.found(tmp_path / "none") == [] and api.spaces(tmp_path / "none") == []
    monkeypatch.setattr(documents, "found", list)
    monkeypatch.setattr(api, "spaces", list)
    folder = output.Folder(tmp_path / "out")
    build.Site(folder).build({})
    folder.finish()
    links = Page(tmp_path / "out/gb/gb0001.html").links
    assert not [link for link in links if "docs/" in link or "api/" in link]


def test_notebooks(tmp_path, checkout):
    cells = [
        {"cell_type": "markdown", "source": ["# Notes\n", "of `GB0170`, GB0124, GB9999 and `docs/zz.md`"]},
        {"cell_type": "code", "source": ["print('```')\n"], "outputs": [
            {"output_type": "stream", "text": ["<b>\x1b[31m```\x1b[0m\n"]},
            {"output_type": "display_data", "data": {"text/html": "<i>no</i>", "text/plain": ["plain"]}},
        ]},
    ]  # fmt: skip
    (tmp_path / "docs/notes.ipynb").write_text(json.dumps({"cells": cells}))
    document = next(d for d in documents.found(tmp_path) if d.page == "docs/notes.html")
    assert document.title == "Notes" and "&lt;b&gt;```" in document.body and "plain" in document.body
    assert "<i>" not in document.body and document.body.count("<pre") == 3
    for link in ("../gb/gb0170.html", "../gb/gb0124.html", "../docs/zz.html"):
        assert f'href="{link}"' in document.body
    assert "gb9999" not in document.body


def test_a_document(checkout):
    document = checkout[-1]
    body = document.body
    assert document.title == "A title with code"
    assert document.contents == [(2, "a-part", "A part"), (2, "a-part-1", "A part")]
    assert 'href="guide/first.html#a-part"' in body and 'href="../api/index.html"' in body
    assert "&lt;script&gt;" in body and "<script" not in body and "&lt;b onclick" in body
    assert "<br>" in body and "not shown" not in body
    assert "source" in body and "func.py" not in body and 'href="https://example.org"' in body
    assert 'href="javascript' not in body and "example.org/x.png" not in body
    assert 'src="files/docs/picture.png"' in body and list(document.files) == ["docs/files/docs/picture.png"]
    assert body.count("<svg") == 1 and "first one" in body and "sequenceDiagram" in body and "<b>" not in body


def test_diagrams():
    drawn = diagrams.drawn("graph BT\n  a[one] --> b[two]\n  c --> b\n")
    assert drawn.count("<rect") == 3 and drawn.count('class="head"') == 2 and "<li>one → two</li>" in drawn
    assert "<b>" not in diagrams.drawn("graph TD\n a[<b>] --> b")
    for other in ("", "pie\n a: 1", "graph BT\n a --- b", "graph BT\n a --> b\n b --> a", "graph BT"):
        assert diagrams.drawn(other) is None


def test_versions_that_raise_a_code():
    class Row:
        python = ""

    assert registry.runs_here(Row)
    Row.python = f"<=3.{sys.version_info[1]}"
    assert registry.runs_here(Row)
    Row.python = f">=3.{sys.version_info[1] + 1}"
    assert not registry.runs_here(Row)


def test_the_last_line_of_a_block_stays():
    for language in ("python", "console", "text", "no such language"):
        assert re.sub(r"<[^>]+>", "", str(markup.coloured("$ first\nlast", language))) == "$ first\nlast"
