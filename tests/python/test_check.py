"""`python -m minidynamo check`: what it finds, what fails, what it writes, and how programs may end under it."""

import json
import os
import re
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree

import junitparser
import pytest

import minidynamo
from python.sarif_objects import is_sarif

PACKAGES = os.path.dirname(os.path.dirname(minidynamo.__file__))  # where the build under test lies
PROGRAM = """\
import minidynamo as torch


def whole(x):
    return x + 1


def broken(x):
    y = x + 1
    é = "ü"; print(y.shape, é)
    return y * 2


def branch(x):
    if x.sum() > 0:
        return x
    return -x


def many(x, word):
    return x * 2 + len(word)


x = torch.ones(3)
for f in (whole, broken, branch):
    torch.compile(f, backend="eager")(x)
for n in range(3):
    torch.compile(many, backend="eager")(x, "a" * n)
"""
CALM = (
    "import minidynamo as torch\nprint(torch.compile(lambda x: x + 1, backend='eager')(torch.ones(2)).sum().item())\n"
)


@pytest.fixture
def place(tmp_path, monkeypatch):
    """An empty folder, which is the current one."""
    for name in ("GITHUB_ACTIONS", "GITHUB_WORKSPACE", "CI_PROJECT_DIR", "MINIDYNAMO_TRACE", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PYTHONPATH", PACKAGES)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def start(*words, **options):
    command = [sys.executable, "-m", "minidynamo", "check", *words]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="backslashreplace", **options
    )


def check(*words, **environment):
    done = start(*words, env={**os.environ, **environment})
    done.stdout, done.stderr = done.communicate(timeout=60)
    assert "Traceback" not in done.stderr.partition("\nCheck ")[2]
    return done


def checked(text, *options, name="program.py", **environment):
    """(what ran, its JSON)"""
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    done = check(*options, "--json", "out.json", name, **environment)
    with open("out.json", encoding="utf-8") as file:
        return done, json.load(file)


def met(content, verdict=None):
    return {(f["rule"], f["line"]) for f in content["findings"] if verdict in (None, f["verdict"])}


BREAKS = {("GB0059", 10), ("GB0170", 15)}


def test_what_is_found_and_all_that_is_written(place):
    (place / ".git").mkdir()
    (place / "in side").mkdir()
    os.chdir(place / "in side")
    outputs = ("--sarif", "o.sarif", "--junit", "o.xml", "--gitlab", "o.gitlab", "--github")
    done, content = checked(PROGRAM, *outputs)
    assert done.returncode == content["status"] == 1 and content["breaks"] == 2 and content["passed"] is False
    assert met(content, "fails") == BREAKS and met(content, "told") == {("recompile", 20)}
    first, second, third = content["findings"]
    assert [f["kind"] for f in (first, second, third)] == ["break", "break", "recompile"]
    assert (first["column"], first["end_column"], first["function"]) == (13, 30, "broken")  # characters, not bytes
    assert first["path"] == "in side/program.py" and first["area"] and first["hints"] and first["text"].endswith("é)")
    assert third["times"] == 2 and "word was" in third["explanation"]
    assert "program.py:10  GB0059  Failed to trace builtin operator  fails\n" in done.stderr
    assert "Fix: Call `print` before or after" in done.stderr and "Check failed: 2 graph breaks (" in done.stderr
    assert done.stdout.startswith("torch.Size([3]) ü\n::error file=in side/program.py,line=10,endLine=10,col=14,")
    assert not re.search(r"^::error(?!.*GB)", done.stdout, re.MULTILINE) and "::notice file" in done.stdout
    check_sarif(json.loads((place / "in side/o.sarif").read_text()), content)
    check_junit(ElementTree.parse(place / "in side/o.xml").getroot(), failures=2)
    check_gitlab(json.loads((place / "in side/o.gitlab").read_text()))


def check_sarif(log, content):
    is_sarif(log)
    (run,) = log["runs"]
    rules, results = run["tool"]["driver"]["rules"], run["results"]
    assert [rule["id"] for rule in rules] == ["GB0059", "GB0170", "recompile"]
    assert all(rules[r["ruleIndex"]]["id"] == r["ruleId"] for r in results)
    assert all(rule["help"]["text"] for rule in rules) and rules[1]["helpUri"].endswith("/gb/gb0170.html")
    where = results[0]["locations"][0]["physicalLocation"]
    assert where["artifactLocation"] == {"uri": "in%20side/program.py", "uriBaseId": "%SRCROOT%"}
    assert where["region"] == {"startLine": 10, "startColumn": 14, "endLine": 10, "endColumn": 31}
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"].startswith("file:///")
    assert run["originalUriBaseIds"]["%SRCROOT%"]["uri"].endswith("/")
    prints = [r["partialFingerprints"]["minidynamo/v1"] for r in results]
    assert prints == [f["fingerprint"] for f in content["findings"]] and len(set(prints)) == 3
    assert "Fix: " in results[0]["message"]["text"] and results[0]["stacks"]
    assert run["invocations"][0]["exitCode"] == 0 and run["invocations"][0]["executionSuccessful"] is True


def check_junit(whole, failures):
    (suite,) = whole
    read = junitparser.JUnitXml.fromroot(whole)
    assert (read.failures, sum(1 for s in read for _ in s)) == (failures, int(suite.get("tests")))
    assert (whole.tag, suite.tag) == ("testsuites", "testsuite")
    cases = suite.findall("testcase")
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == (str(len(cases)), str(failures), "0")
    assert len(suite.findall("testcase/failure")) == failures
    assert all(case.get("name") and case.get("classname") and float(case.get("time")) >= 0 for case in cases)
    assert suite.find("testcase/failure").get("type") == "GB0059"


def check_gitlab(rows):
    for row in rows:
        assert set(row) == {"description", "check_name", "fingerprint", "severity", "location"}
        assert row["severity"] in ("info", "minor", "major", "critical", "blocker")
        assert row["location"]["path"] == "in side/program.py" and row["location"]["lines"]["begin"] > 0
    assert [row["check_name"] for row in rows] == ["GB0059", "GB0170", "recompile"]
    assert len({row["fingerprint"] for row in rows}) == 3


@pytest.mark.parametrize(
    ("options", "status", "failing"),
    [
        (("--fail-on", "none"), 0, set()),
        (("--fail-on", "GB0170"), 1, {("GB0170", 15)}),
        (("--fail-on", "59, gb0001-GB0010"), 1, {("GB0059", 10)}),
        (("--fail-on=GB017?",), 1, {("GB0170", 15)}),
        (("--fail-on", "control-flow"), 1, {("GB0170", 15)}),
        (("--fail-on", "recompiles"), 1, {("recompile", 20)}),
        (("--ignore", "GB0059"), 1, {("GB0170", 15)}),
        (("--max-breaks", "2"), 0, set()),
        (("--max-breaks", "1"), 1, set()),
        (("--max-breaks", "1", "--ignore", "GB0059"), 0, set()),
        (("--only", "elsewhere"), 0, set()),
        (("--only", "."), 1, BREAKS),
        (("--exclude", "pro*.py"), 0, set()),
        (("-q", "--everything", "--ignore", "59"), 1, {("GB0170", 15)}),
    ],
)
def test_what_fails(place, options, status, failing):
    done, content = checked(PROGRAM, *options)
    assert (done.returncode, content["status"]) == (status, status), done.stderr
    assert {row for row in met(content, "fails") if row[0] in ("GB0059", "GB0170", "recompile")} == failing
    if "--max-breaks" in options and status:
        assert "graphs break at 2 places; --max-breaks allows 1" in done.stderr.lower()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--fail-on", "GB9999", "p.py"), "'GB9999' is no kind"),
        (("--fail-on", "GB0300-GB0100", "p.py"), "is no kind"),
        (("--ignore", "[", "p.py"), "'[' is no kind"),
        (("--max-breaks", "-1", "p.py"), "--max-breaks"),
        (("no_such.py",), "there is no file 'no_such.py'"),
        ((), "usage"),
        (("--json", "a", "--sarif", "./a", "p.py"), "--json and --sarif name the same place"),
        (("--json", "no/such/a", "p.py"), "its folder does not exist"),
        (("--json", ".", "p.py"), "it is a folder"),
        (("--json", "", "p.py"), "no name of a file"),
        (("--baseline", "none.json", "p.py"), "No such file"),
        (("--baseline", "p.py", "p.py"), "not a file that --write-baseline has written"),
    ],
)
def test_wrong_usage_runs_nothing(place, words, said):
    (place / "p.py").write_text("print('it ran')\n")
    done = check(*words)
    assert done.returncode == 2 and done.stdout == "" and said in done.stderr
    assert sorted(os.listdir()) == ["p.py"]


def test_a_baseline(place):
    done, content = checked(PROGRAM, "--write-baseline", "known.json")
    assert done.returncode == 0 and met(content, "known") == met(content)
    moved = "# a line more\n" + PROGRAM
    done, content = checked(moved, "--baseline", "known.json", "--sarif", "o.sarif", name="renamed.py")
    assert done.returncode == 0 and met(content, "known") == met(content) and len(met(content)) == 3
    assert {r["baselineState"] for r in json.loads((place / "o.sarif").read_text())["runs"][0]["results"]} == {
        "unchanged"
    }
    more = PROGRAM.replace("    return y * 2\n", "    print(2)\n    return y * 2\n").replace("> 0", "> 1")
    done, content = checked(more, "--baseline", "known.json", "--junit", "o.xml")
    assert done.returncode == 1 and met(content, "fails") == {("GB0059", 11), ("GB0170", 16)}
    assert content["stale"] == 1 and content["breaks"] == 2
    assert ElementTree.parse(place / "o.xml").getroot()[0].get("skipped") == "2"
    done, content = checked(more, "--baseline", "new.json", "--write-baseline", "new.json")
    assert done.returncode == 0 and checked(more, "--baseline", "new.json")[0].returncode == 0


ENDS = {
    "exit": ("import sys; sys.exit(7)", 7, None),
    "exception": ("1 / 0", 1, None),
    "at once": ("import os; os._exit(5)", 5, None),
    "abort": ("import os; os.abort()", 134, "SIGABRT"),
    "crash": ("import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", 139, "SIGSEGV"),
    "killed": ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", 137, "SIGKILL"),
}


@pytest.mark.parametrize("way", ENDS)
def test_how_the_program_ends_is_told(place, way):
    text, status, name = ENDS[way]
    done, content = checked(PROGRAM + text + "\n", "--sarif", "o.sarif", "--junit", "o.xml")
    assert done.returncode == content["status"] == 3 and met(content, "fails") == BREAKS
    assert (content["program"]["status"], content["program"]["signal"]) == (status, name)
    assert (name or f"status {status}") in done.stderr
    log = json.loads((place / "o.sarif").read_text())
    is_sarif(log)
    invocation = log["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False and invocation.get("exitSignalName") == name
    assert ElementTree.parse(place / "o.xml").getroot().get("errors") == "1"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_that_hangs(place, number):
    (place / "p.py").write_text(PROGRAM + "print('now', flush=True)\nimport time\nwhile True: time.sleep(60)\n")
    done = start("--json", "out.json", "p.py", start_new_session=True)
    while done.stdout.readline() != "now\n":
        pass
    done.send_signal(number)
    _, said = done.communicate(timeout=30)
    content = json.loads((place / "out.json").read_text())
    assert done.returncode == 3 and met(content, "fails") == BREAKS
    assert content["program"]["status"] == 128 + number and signal.Signals(number).name in said


def test_a_program_that_ends_its_whole_group(place):
    (place / "p.py").write_text(PROGRAM + "import os, signal\nos.killpg(0, signal.SIGQUIT)\nsignal.pause()\n")
    done = start("--json", "out.json", "p.py", start_new_session=True)
    done.communicate(timeout=30)
    content = json.loads((place / "out.json").read_text())
    assert done.returncode == 3 and met(content, "fails") == BREAKS and content["program"]["signal"] == "SIGQUIT"


OTHER_PROCESSES = (
    PROGRAM
    + """
import multiprocessing, os, subprocess, sys


def forked(x):
    print("in a child")
    return x + 1


def started(x):
    return x + 1 if x.max() > 0 else x


def work(n):
    torch.compile(started, backend="eager")(torch.ones(2))


if __name__ == "__main__":
    if (child := os.fork()) == 0:
        torch.compile(forked, backend="eager")(x)
        os._exit(0)
    os.waitpid(child, 0)
    process = multiprocessing.get_context("spawn").Process(target=work, args=(1,))
    process.start()
    process.join()
    os.chdir("/")
    sys.stdout.close()
    os.close(1)
"""
)


def test_all_processes_are_seen(place):
    done, content = checked(OTHER_PROCESSES)
    assert done.returncode == 1 and {("GB0059", 34), ("GB0170", 39)} | BREAKS == met(content, "fails")
    assert len(content["program"]["processes"]) == 3
    assert next(f["times"] for f in content["findings"] if f["line"] == 10) == 2  # the module was run again


def test_traces_of_the_program_and_of_the_caller(place):
    own = "import os\nos.environ['MINIDYNAMO_TRACE'] = 'mine'\n" + PROGRAM
    done, content = checked(own, MINIDYNAMO_TRACE="given")
    assert met(content) == {(rule, line + 2) for rule, line in {*BREAKS, ("recompile", 20)}}
    assert len(os.listdir("mine")) == 1 and len(os.listdir("given")) == 1  # the second is the command's own
    done, content = checked(PROGRAM, MINIDYNAMO_TRACE="given")
    assert len(os.listdir("given")) == 3 and met(content, "fails") == BREAKS


def test_a_program_that_closes_all_files_and_calls_on(place):
    text = PROGRAM.replace("def whole", "def outer(x):\n    return broken(x) + 1\n\n\ndef whole")
    text = text.replace(
        "for f in (whole,",
        "import os\nos.closerange(3, 99)\nfiles = [open(f'mine{n}', 'w') for n in range(5)]\nfor f in (outer,",
    )
    done, content = checked(text, "--sarif", "o.sarif")
    assert done.returncode == 1 and {f["line"] for f in content["findings"] if f["kind"] == "break"} == {14, 19}
    assert all(os.path.getsize(f"mine{n}") == 0 for n in range(5))
    (flow,) = json.loads((place / "o.sarif").read_text())["runs"][0]["results"][0]["codeFlows"]
    functions = [step["location"]["logicalLocations"][0]["name"] for step in flow["threadFlows"][0]["locations"]]
    assert functions == ["outer", "broken"]


def test_pytest_as_the_program(place):
    text = (
        PROGRAM.replace("x = torch", "def test_all():\n  x = torch")
        .replace("\nfor", "\n  for")
        .replace("    torch.", "      torch.")
    )
    (place / "test_it.py").write_text(text)
    done = check("--json", "out.json", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "test_it.py")
    content = json.loads((place / "out.json").read_text())
    assert done.returncode == 1 and met(content, "fails") == BREAKS and "1 passed" in done.stdout
    assert content["program"]["command"][:3] == ["-m", "pytest", "-q"]


def test_programs_of_torch_and_without_compilations(place):
    text = PROGRAM.replace("import minidynamo as torch", "import torch")
    done, content = checked(text, "--as-torch", GITHUB_ACTIONS="true")
    assert done.returncode == 1 and met(content, "fails") == BREAKS and "::error file=program.py" in done.stdout
    text = "import argparse\nargparse.ArgumentParser().parse_args([])\n"
    done, content = checked(text, "--everything", "--sarif", "o.sarif", "--ignore", "all")
    assert done.returncode == 0 and "In files that do not count (installed, or left out): " in done.stderr
    assert met(content, "elsewhere") and "elsewhere" not in (place / "o.sarif").read_text()
    for text, said in (("print(1)", "did not import minidynamo"), ("import minidynamo", "No function was compiled")):
        done, content = checked(text)
        assert done.returncode == 0 and said in done.stderr and content["notes"]


HOSTILE_NAME = "a,b:c%\n<b>\x1b[31m'é.py"
HOSTILE = """\
import minidynamo as torch
source = '''
def f(x):
    y = x + 1
    print("\\x1b]0;title\\x07 \\u202e <script>alert(1)</script> ::error::{0} [a](b) ]]> \\\\udcff" * 2)
    return y
'''
space = {}
exec(compile(source, "<in\\x1b[2J\\nside>", "exec"), space)
f = space["f"]
torch.compile(f, backend="eager")(torch.ones(2))
def g(x):
    y = x + 1
    print("\x1b[2J <b> ::warning:: %0A", "\u202e", "]]>", "&amp;", "{0}", "[a](b)"); return y
g.__code__ = g.__code__.replace(co_name="g\\x1b[1m\\n::error::<i>")
torch.compile(g, backend="eager")(torch.ones(2))
def h(x, word):
    return x + len(word)
for word in ("\\x1b[2J\\n::error::{0}", "<b>" * 100000):
    torch.compile(h, backend="eager")(torch.ones(2), word)
"""


def test_text_of_programs_is_never_acted_on(place):
    with open(HOSTILE_NAME, "w", encoding="utf-8") as file:
        file.write(HOSTILE)
    outputs = ("--sarif", "o.sarif", "--junit", "o.xml", "--gitlab", "o.gitlab", "--json", "o.json", "--github")
    done = check(*outputs, HOSTILE_NAME)
    assert done.returncode == 1, done.stderr
    shown = done.stderr + done.stdout[done.stdout.index("::error title=GB") :]
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)
    commands = [line for line in done.stdout.splitlines() if line.startswith("::")]
    assert len(commands) == 3 and "file=a%2Cb%3Ac%25 <b>" in commands[0], commands
    log = json.loads((place / "o.sarif").read_text())
    is_sarif(log)
    uris = [
        r["locations"][0].get("physicalLocation", {}).get("artifactLocation", {}) for r in log["runs"][0]["results"]
    ]
    named = {"uri": "a%2Cb%3Ac%25%0A%3Cb%3E%1B%5B31m%27%C3%A9.py", "uriBaseId": "%SRCROOT%"}
    assert uris == [named, named, named]  # the second is in no file: it is shown where the program begins
    for name in ("o.xml", "o.gitlab", "o.json", "o.sarif"):
        text = (place / name).read_text(encoding="utf-8")
        assert "\x1b" not in text and "\u202e" not in text and len(text) < 50000
    ElementTree.parse(place / "o.xml")
    assert "g\\x1b[1m ::error::<i>" in [f["function"] for f in json.loads((place / "o.json").read_text())["findings"]]


def test_a_name_that_is_no_text(place):
    done, content = checked(PROGRAM.replace("é", "e"), name="a\udcff.py")
    assert done.returncode == 1 and met(content, "fails") == BREAKS
    assert "a\\udcff.py:10  GB0059" in done.stderr and content["findings"][0]["path"] == "a\\udcff.py"


@pytest.mark.parametrize("environment", [{"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, {}])
def test_outputs_that_cannot_be_written(place, environment):
    (place / "p.py").write_text(PROGRAM.replace("print(y.shape, é)", "print(y.shape)"), encoding="utf-8")
    done = check("--json", "/dev/full", "--sarif", "o.sarif", "p.py", **environment)
    assert done.returncode == 4 and "--json /dev/full cannot be written: No space left" in done.stderr
    assert json.loads((place / "o.sarif").read_text()) and sorted(os.listdir()) == ["o.sarif", "p.py"]
    done = check("--json", "-", "--github", "p.py", **environment)
    said, _, content = done.stdout.partition("\n")
    assert done.returncode == 1 and met(json.loads(content), "fails") == BREAKS and "::error" in done.stderr
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "minidynamo", "check", "--json", "-", "p.py"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode in (3, 4) and "cannot be written: No space left" in done.stderr
        done = subprocess.run(command[:4] + command[6:], stderr=full, stdout=subprocess.PIPE, text=True, timeout=60)
        assert done.returncode == 4


def test_a_full_disk_under_the_program(place):
    text = PROGRAM + "import resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (1, 1))\n"
    text += "import signal\nsignal.signal(signal.SIGXFSZ, signal.SIG_IGN)\ntorch.compile(lambda x: x + 2)(x)\n"
    done, content = checked(text)
    assert done.returncode == 1 and met(content, "fails") == BREAKS
    assert content["notes"] == ["the program's record has no end: it left by os._exit, or no more could be written"]


def test_colours(place):
    (place / "p.py").write_text(PROGRAM, encoding="utf-8")
    plain, coloured, none = (
        check("p.py", **e) for e in ({}, {"FORCE_COLOR": "1"}, {"FORCE_COLOR": "1", "NO_COLOR": "1"})
    )
    assert "\x1b[" in coloured.stderr and re.sub(r"\x1b\[[\d;]*m", "", coloured.stderr) == plain.stderr == none.stderr


def test_time(place):
    (place / "p.py").write_text(CALM)
    start = time.perf_counter()
    assert check("p.py").returncode == 0
    assert time.perf_counter() - start < 20
