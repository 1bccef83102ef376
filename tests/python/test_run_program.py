"""`python -m minidynamo run`: a program runs as the interpreter itself would run it."""

import json
import os
import signal
import subprocess
import sys
import zipfile

import pytest

import minidynamo

PACKAGES = os.path.dirname(os.path.dirname(minidynamo.__file__))  # where the build under test lies


@pytest.fixture(autouse=True)
def build_under_test(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", PACKAGES)


SHOW = """\
import sys
print(sys.argv[1:], __name__, __file__ == sys.modules["__main__"].__file__, __spec__ is None, __package__, sys.path[0])
print(sorted(k for k in globals() if k != "__builtins__"))
"""


def both(*program, cwd, stdin="", ways=((), ("--everything",), ("--everything", "--trace-more"))):
    """Runs it plainly and each way compiled; all must look the same. Returns the plain run."""
    given = dict(cwd=cwd, input=stdin, capture_output=True, text=True, timeout=60)
    plain = subprocess.run([sys.executable, *program], **given)
    for flags in ways:
        run = subprocess.run([sys.executable, "-m", "minidynamo", "run", *flags, *program], **given)
        assert (run.returncode, run.stdout, run.stderr) == (plain.returncode, plain.stdout, plain.stderr), flags
    return plain


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_script_sees_what_it_always_sees(tmp_path):
    write(tmp_path, "inner/show.py", SHOW)
    assert (
        "['--report', 'x', '-m'] __main__ True True None"
        in both("inner/show.py", "--report", "x", "-m", cwd=tmp_path).stdout
    )


def test_module_and_package(tmp_path):
    write(tmp_path, "show.py", SHOW)
    write(tmp_path, "package/__init__.py", "")
    write(tmp_path, "package/__main__.py", SHOW)
    assert "['-x']" in both("-m", "show", "-x", cwd=tmp_path).stdout
    assert "package" in both("-m", "package", cwd=tmp_path).stdout
    assert both("-m", "no_such_module", cwd=tmp_path).returncode == 1


def test_folder_and_zip_file(tmp_path):
    write(tmp_path, "folder/__main__.py", SHOW)
    with zipfile.ZipFile(tmp_path / "program.zip", "w") as file:
        file.writestr("__main__.py", SHOW)
    both("folder", "1", cwd=tmp_path)
    both("program.zip", "2", cwd=tmp_path)


def test_missing_file(tmp_path):
    assert both("no_such.py", cwd=tmp_path).returncode == 2


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("def f(x):\n    return 1 / x\n\ndef g():\n    f(0)\n\ng()\n", 1),
        (
            "def f():\n    try:\n        1 / 0\n    except ArithmeticError as e:\n        raise KeyError from e\nf()\n",
            1,
        ),
        ("x = (\n", 1),
        ("import sys\nsys.exit(7)\n", 7),
        ("import sys\nsys.exit('a message')\n", 1),
        ("import sys\nsys.excepthook = lambda *e: print('hook', e[0].__name__, e[2].tb_lineno)\n1 / 0\n", 1),
        ("import atexit\natexit.register(print, 'last')\nprint(input())\n", 0),
        ("def f():\n    raise KeyboardInterrupt\nf()\n", -signal.SIGINT),
        ("import os\ndef f():\n    os._exit(5)\nf()\n", 5),
    ],
    ids=["exception", "cause", "syntax", "exit", "exit message", "hook", "input", "interrupt", "at once"],
)
def test_ends_as_it_always_ends(tmp_path, text, status):
    write(tmp_path, "program.py", text)
    assert both("program.py", cwd=tmp_path, stdin="line\n").returncode == status


def test_other_threads_are_compiled_too(tmp_path):
    text = """\
import threading

def f(n):
    return [n, n + 1]

out = []
threads = [threading.Thread(target=lambda k=k: out.append(f(k))) for k in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print(sorted(out))
"""
    write(tmp_path, "program.py", text)
    both("program.py", cwd=tmp_path)
    command = [sys.executable, "-m", "minidynamo", "run", "--everything", "--report", "r.json", "program.py"]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    rows = {row["name"]: row for row in json.loads((tmp_path / "r.json").read_text())["functions"]}
    row = rows["Thread.run"]  # which calls the lambda
    assert row["whole"] + row["partly"] + row["skipped"] == 4 and row["skipped"] < 4


def counts(tmp_path, text, *flags):
    path = write(tmp_path, "program.py", text)
    command = [sys.executable, "-m", "minidynamo", "run", *flags, "--report", "r.json", str(path)]
    subprocess.run(command, cwd=tmp_path, check=True, timeout=60)
    report = json.loads((tmp_path / "r.json").read_text())
    return report, {row["name"]: row for row in report["functions"] if row["file"] == str(path)}


PROGRAM = """\
def whole(x):
    return [x, x]

def broken(x):
    y = x + 1
    print(y)
    return y

def loops(x):
    for k in range(x):
        print(k)

class C:
    def method(self):
        return 3

for k in range(3):
    whole(k)
    broken(k)
    loops(2)
    C().method()
"""


def test_frames_are_counted(tmp_path):
    report, rows = counts(tmp_path, PROGRAM, "--everything")
    ends = {name: (row["whole"], row["partly"], row["skipped"]) for name, row in rows.items()}
    assert ends == {"whole": (3, 0, 0), "broken": (0, 3, 0), "loops": (0, 0, 3), "C.method": (3, 0, 0)}
    assert set(rows["broken"]["breaks"]) == set(rows["loops"]["breaks"])
    (code,) = rows["loops"]["breaks"]
    assert rows["loops"]["skips"] == {f"{code} in loop": 3} and rows["broken"]["skips"] == {}
    assert report["totals"]["partly"] >= 3 and report["totals"]["breaks"][code] >= 2
    lines = {n for n, line in enumerate(PROGRAM.split("\n"), 1) if "print" in line}
    places = [place for place in report["places"] if place["file"] == str(tmp_path / "program.py")]
    assert {place["line"] for place in places} <= lines and len(places) >= 2
    assert all(place["code"] == code and place["title"] and place["hints"] for place in places)
    assert [place["times"] for place in report["places"]] == sorted(
        (p["times"] for p in report["places"]), reverse=True
    )


def test_nothing_is_compiled_without_the_flag(tmp_path):
    assert counts(tmp_path, PROGRAM)[1] == {}
    text = "import minidynamo\n" + PROGRAM.replace("def whole", "@minidynamo.compile\ndef whole")
    report, rows = counts(tmp_path, text)
    assert set(rows) == {"whole"} and report["totals"]["skipped"] == 3  # no tensor in it: nothing to compile


def test_own_frames_are_left_alone(tmp_path):
    text = "import minidynamo as torch\nprint(torch.nn.functional.relu6(torch.ones(2)).sum().item())\n"
    report, _ = counts(tmp_path, text, "--everything")
    assert [row for row in report["functions"] if f"{os.sep}minidynamo{os.sep}" in row["file"]] == []


def test_usage(tmp_path):
    run = subprocess.run([sys.executable, "-m", "minidynamo", "run"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 2 and "run [--everything]" in run.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_the_report_goes_to_the_standard_output(tmp_path, unbuffered):
    program = write(tmp_path, "program.py", "import sys\ndef f():\n    print('said')\nf()\nsys.stdout = None\n")
    command = [sys.executable, "-m", "minidynamo", "run", "--everything", "--report", "-", "program.py"]
    env = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, env=env)
    said, report = done.stdout.splitlines()
    assert said == "said" and "f" in [row["name"] for row in json.loads(report)["functions"]], done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"], program


def test_the_report_where_the_program_replaced_its_output(tmp_path):
    written = "import sys\ndef f(): pass\nf()\nclass Plain:\n    def write(self, text): pass\nsys.stdout = Plain()\n"
    failing = written + "Plain.flush = lambda self: 1 / 0\n"
    for text in (written, failing):
        write(tmp_path, "program.py", text)
        command = [sys.executable, "-m", "minidynamo", "run", "--everything", "--report", "-", "program.py"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
        assert "f" in [row["name"] for row in json.loads(done.stdout)["functions"]], done.stderr


def test_a_report_that_cannot_be_written(tmp_path):
    write(tmp_path, "program.py", "print('said')\n")
    command = [sys.executable, "-m", "minidynamo", "run", "--report", "no/such/folder.json", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.stdout == "said\n" and "Traceback" not in done.stderr
    assert done.stderr == "python -m minidynamo: cannot write the report: No such file or directory\n"
