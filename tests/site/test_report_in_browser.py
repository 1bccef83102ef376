"""The page that `report` writes, in a browser: themes, phones, accessibility, what is folded, the timeline."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import minidynamo
from minidynamo._report import page
from minidynamo._report.model import model

pytestmark = pytest.mark.version_free
PACKAGES = str(pathlib.Path(minidynamo.__file__).parents[1])
PROGRAM = """\
import minidynamo as torch


@torch.compile(dynamic=False)
def noisy(x, w):
    y = x @ w
    print("shape", y.shape)
    if y.sum() > 0:
        y = y.relu()
    return (y - y.mean()).sum()


for rows in range(2, 15):
    noisy(torch.ones(rows, 8), torch.ones(8, 8))
"""
EVIL = '</script></title></style><script>alert(1)</script><img src="https://example.org/x" onerror=alert(2)>'


@pytest.fixture(scope="module")
def reported(tmp_path_factory):
    """A report of PROGRAM with all that a page can have."""
    place = tmp_path_factory.mktemp("report")
    (place / "program.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": PACKAGES}
    command = [sys.executable, "-m", "minidynamo", "report", "--code", "-o", "page.html", "program.py"]
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return place / "page.html"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("dark", [False, True])
def test_it_can_be_read(browser, reported, dark, width):
    """axe finds nothing, and nothing stands beside the window."""
    import axe_core_python

    source = next(pathlib.Path(axe_core_python.__file__).parent.rglob("axe.min.js")).read_text(encoding="utf-8")
    browser.look(width=width, dark=dark)
    browser.open(reported)
    browser.run("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    assert browser.run("return document.documentElement.scrollWidth") <= width
    browser.run(source)
    found = browser.driver.execute_async_script(
        "const done = arguments[arguments.length - 1]; axe.run(document, {resultTypes: ['violations']})"
        ".then((found) => done(found.violations.map((v) => [v.id, v.nodes.length, v.nodes[0].html])))"
    )
    assert found == []


def test_nothing_is_asked_for_and_nothing_complains(browser, reported):
    browser.open(reported)
    assert [url for url in browser.requests() if not url.startswith(("file:", "about:"))] == []
    assert browser.complaints() == []


def test_a_link_unfolds_what_it_leads_to(browser, reported):
    browser.open(reported)
    folded = browser.run("return document.querySelector('details.variants article h3').id")
    visible = "return document.getElementById(arguments[0]).checkVisibility({contentVisibilityAuto: true})"
    assert not browser.run(visible, folded)
    browser.run("location.hash = arguments[0]; return new Promise((done) => setTimeout(done, 50))", folded)
    assert browser.run(visible, folded)
    browser.open(reported, "#" + folded)
    assert browser.run(visible, folded)


def test_the_timeline_grows_and_is_saved(browser, reported):
    browser.open(reported)
    width = "return document.getElementById('lanes').clientWidth"
    before = browser.run(width)
    browser.run("document.querySelector('[data-zoom=\"2\"]').click()")
    assert browser.run(width) == 2 * before
    browser.run("document.querySelector('[data-zoom=\"0\"]').click()")
    assert browser.run(width) == before
    rows = json.loads(browser.run("return document.getElementById('trace').textContent"))["traceEvents"]
    assert {row["cat"] for row in rows if row["ph"] == "X"} >= {"compile", "break", "region"}
    said = browser.run(
        "let name; HTMLAnchorElement.prototype.click = function () { name = this.download + ' ' + this.protocol; };"
        "document.getElementById('save-trace').click(); return name"
    )
    assert said == "minidynamo-timeline.json blob:"


def test_themes(browser, reported):
    colour = "return getComputedStyle(document.body).backgroundColor"
    browser.open(reported)
    before = browser.run(colour)
    browser.run("document.getElementById('theme').click()")
    after = browser.run(colour)
    assert after != before
    browser.open(reported)
    assert browser.run(colour) == after
    browser.run("document.getElementById('theme').click(); localStorage.clear()")


def test_it_prints_dark_on_light(browser, reported):
    browser.look(dark=True)
    browser.open(reported)
    browser.run("document.documentElement.dataset.theme = 'dark'")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    colours = browser.run("const s = getComputedStyle(document.body); return [s.color, s.backgroundColor]")
    shown = browser.run("return document.querySelector('nav').checkVisibility()")
    browser.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    text, behind = [sum(map(int, each[4:-1].split(","))) for each in colours]
    assert text < 200 and behind > 700 and not shown


def test_without_script_everything_is_there(browser, reported):
    browser.look(script=False)
    browser.open(reported)
    browser.look(script=True)
    assert browser.run("return document.querySelector('.first li').checkVisibility()")
    assert browser.run("return document.querySelectorAll('svg.lane rect').length") > 5
    assert not browser.run("return document.getElementById('theme').checkVisibility()")


def test_text_of_a_program_runs_nowhere(browser, tmp_path):
    place = {"function": EVIL, "file": EVIL, "line": 1}
    rows = [
        {"v": 1, "kind": "run", "time": 1.0, "program": [EVIL], "python": EVIL, "version": EVIL, "pid": 1},
        {"v": 1, "kind": "compile", "time": 2.0, "compile_id": "0/0", "seconds": 0.1, "entry": 0, **place},
        {"v": 1, "kind": "break", "time": 2.0, "compile_id": "0/0", "code": None, "type": EVIL, "context": EVIL,
         "explanation": EVIL, "hints": [EVIL], "stack": [place], "outcome": "resumed"},
        {"v": 1, "kind": "artifact", "time": 2.0, "compile_id": "0/0", "name": "guards",
         "text": f"+- X: {EVIL}  # {EVIL}"},
        {"v": 1, "kind": "part", "time": 2.0, "category": EVIL, "name": EVIL, "start": 0.0, "seconds": 1.0},
    ]  # fmt: skip
    path = tmp_path / "page.html"
    path.write_bytes(page.render(model([rows]), [(EVIL, EVIL)]))
    browser.open(path)
    assert browser.run("return [document.scripts.length, document.images.length, document.title]")[:2] == [2, 0]
    assert browser.complaints() == []
    assert [url for url in browser.requests() if url.startswith("http")] == []
