"""Mutation check: with any one op, opcode handler, raise site of a graph break, kind of guard, pass or alias fact
disabled, or any predicate turned round, some test must fail.

    .venv/bin/python tools/mutate.py [--keep] [--tests=FOLDER,...] [WORD...]

Builds with -DMINIDYNAMO_MUTATE=ON into build-mutate (the switch is ir/graph/mutation.h), runs the test suite once to
record which test uses what, then for each mutant the tests that use it, quickest first, until one fails: in a fork of a
process that has collected them. WORDs restrict the mutants ("opcode", "GB0092", "frontend/values", "op:sin", "guard:");
--keep uses the last build and recording; --tests records and runs the tests of some folders only. The table goes to
out/mutants.tsv as well; the exit status is 1 if a mutant survived.
"""

import collections
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

import mutated_rules

ROOT = pathlib.Path(__file__).resolve().parents[1]
BUILD = ROOT / "build-mutate"
TREE = BUILD / "tree"  # the package with the switch compiled in, and all that its tests read
HITS = BUILD / "hits"
PLANS = BUILD / "plans"  # what each checking process does, and its verdicts
FOLDERS = ("python", "tests", "examples", "registry", "docs", "tools")
# Not about what the compiler does, or too slow to run for each mutant.
LEFT_OUT = ("tests/layout", "tests/ulp", "tests/examples")
LATE = ("tests/fuzz", "tests/conformance")  # a fixed test says more about a mutant than a random program
PROCESSES = 2
SECONDS = 120  # for one mutant
SITE = re.compile(r"\b(?:(?:make_break|graph_break|not_modelled|listed_break)<(GB\w+)>|(title_only_break)\()")
# What no test run by CPython 3.11 gets to: the mutant without its line number, and why.
NEWER = "only newer CPythons emit the instruction"
UNREACHABLE = {
    "opcode:LOAD_SUPER_ATTR": NEWER,
    "opcode:LOAD_FAST_AND_CLEAR": NEWER,
    "opcode:TO_BOOL": NEWER,
    "opcode:CLEANUP_THROW": NEWER,
    "break:frontend/opcodes/names.cpp GB0113": NEWER,
    "break:frontend/opcodes/stack.cpp GB0076": NEWER,
    "break:frontend/opcodes/exceptions.cpp GB0024": NEWER,
    "break:frontend/plan/plan.cpp GB0075": "against objects of the trace in a plan, where nothing brings one",
    "break:frontend/driver/compile_frame.cpp GB0052": "against endless restarts; a frame restarts once for each break",
}


# --- as a pytest plugin: each test gets a file of its own for what it uses; mutants are checked in forks


def pytest_runtest_setup(item):
    if hits := os.environ.get("MINIDYNAMO_MUTATE_HITS"):
        file = pathlib.Path(hits) / hashlib.sha256(item.nodeid.encode()).hexdigest()[:16]
        file.write_text(item.nodeid + "\n")
        os.environ["MINIDYNAMO_MUTATE_RECORD"] = str(file)


def pytest_runtest_logreport(report):
    here = os.environ.get("MINIDYNAMO_MUTATE_RECORD")
    if here and report.when == "call":
        pathlib.Path(here + ".end").write_text(f"{report.outcome} {report.duration}")


def first_failing(items):
    from _pytest.runner import runtestprotocol

    for item in items:
        try:
            reports = runtestprotocol(item, nextitem=None, log=False)
        except BaseException:  # noqa: BLE001  pytest itself does not get over it: noticed as well
            return item.nodeid
        if any(report.failed for report in reports):
            return item.nodeid
    return None


def verdict_of(mutant, items):
    """(verdict, the test or what was seen), found out in a fork."""
    read, write = os.pipe()
    if (child := os.fork()) == 0:
        os.environ["MINIDYNAMO_MUTATE"] = mutant
        signal.alarm(SECONDS)
        failing = first_failing(items)
        os.write(write, (f"caught\t{failing}" if failing else f"SURVIVED\t{len(items)} tests use it").encode())
        os._exit(0)
    os.close(write)
    with open(read, "rb") as said:
        text = said.read().decode()
    status = os.waitpid(child, 0)[1]
    crashed = "caught" if mutant.startswith("rule:") else "CRASHED"  # the opposite of what is true may well crash
    return text or f"{crashed}\tstatus {os.waitstatus_to_exitcode(status)}"


def pytest_runtestloop(session):
    if not (file := os.environ.get("MINIDYNAMO_MUTATE_PLAN")):
        return None
    items = {item.nodeid: item for item in session.items}
    with open(file + ".verdicts", "w") as out:
        for mutant, tests in json.loads(pathlib.Path(file).read_text()).items():
            print(mutant, verdict_of(mutant, [items[t] for t in tests if t in items]), sep="\t", file=out, flush=True)
    return True


# --- the mutants


def build():
    for folder in FOLDERS:
        target = TREE / folder
        for old in target.rglob("*") if target.exists() else ():
            if old.is_file() and old.suffix != ".so":
                old.unlink()
        shutil.copytree(
            ROOT / folder, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.so", "*.debug", "__pycache__")
        )
    for name in ("pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, TREE / name)
    mutated_rules.write(ROOT / "frontend", BUILD / "rules")
    options = ["-DMINIDYNAMO_MUTATE=ON", f"-DMINIDYNAMO_OUTPUT_DIR={TREE / 'python/minidynamo'}"]
    if clang := shutil.which("clang++-19"):  # in half of g++'s time
        options.append(f"-DCMAKE_CXX_COMPILER={clang}")
    subprocess.run(["nice", ROOT / "tools/build", BUILD.name, *options, "--", "_C"], cwd=ROOT, check=True)


def raise_sites():
    """{"break:frontend/values/value.cpp:93": "GB0160"}"""
    found = {}
    for path in sorted((ROOT / "frontend").rglob("*.cpp")):
        for number, line in enumerate(path.read_text().split("\n"), 1):
            if (site := SITE.search(line)) and not line.startswith(("void", "GraphBreak", "//")):
                found[f"break:{path.relative_to(ROOT)}:{number}"] = site[1] or "no code"
    return found


def guards():
    """Of the kinds that are checked; some are only printed."""
    kinds = re.findall(r"^MD_GUARD\((\w+)\)", (ROOT / "frontend/guards/kinds.inc").read_text(), re.MULTILINE)
    structs = "".join(path.read_text() for path in (ROOT / "frontend/guards").glob("*.h"))
    bodies = dict(re.findall(r"^struct (\w+)[^;{]*\{(.*?)^\};", structs, re.MULTILINE | re.DOTALL))
    return [f"guard:{kind}" for kind in kinds if " unchecked = " not in bodies.get(kind, "")]


def passes():
    table = (ROOT / "ir/compile/pipeline.cpp").read_text().split("kPasses[] = {")[1].split("};")[0]
    return [f"pass:{name}" for name in dict.fromkeys(re.findall(r'\{"(\w+)"', table))]


def mutants():
    """Every mutant with the text the table shows."""
    families = sorted((ROOT / "frontend/opcodes").glob("*.cpp"))
    opcodes = [name for path in families for name in re.findall(r"^OPCODE\((\w+)\)", path.read_text(), re.MULTILINE)]
    listing = "import json, minidynamo._C as c; [print(op['name'], op['kind']) for op in json.loads(c.op_table_json())]"
    done = subprocess.run(
        [sys.executable, "-c", listing], env=environment(), capture_output=True, text=True, check=True
    )
    ops = [line.split() for line in done.stdout.splitlines()]
    named = [f"op:{name}" for name, _ in ops] + [f"opcode:{name}" for name in opcodes] + guards() + passes()
    named += [f"alias:{name}" for name, kind in ops if kind == "view"] + mutated_rules.rules(ROOT / "frontend")
    return {mutant: mutant for mutant in named} | {mutant: f"{mutant} {code}" for mutant, code in raise_sites().items()}


def unreachable(mutant):
    return UNREACHABLE.get(re.sub(r":\d+( |$)", r"\1", mutant))


# --- running tests


def environment(**more):
    return {**os.environ, "PYTHONPATH": f"{TREE / 'python'}:{TREE / 'tools'}", **more}


PYTEST = ("nice", "-n", "10", sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--hypothesis-seed=0")


def record(folders):
    """Runs every test once; what each used is in HITS afterwards."""
    shutil.rmtree(HITS, ignore_errors=True)
    HITS.mkdir(parents=True)
    left_out = [f"--ignore={folder}" for folder in LEFT_OUT]
    command = [*PYTEST, "-p", "mutate", "-n", str(PROCESSES), *left_out, *folders]
    environ = environment(MINIDYNAMO_MUTATE_HITS=str(HITS))
    done = subprocess.run(command, cwd=TREE, env=environ, capture_output=True, text=True, errors="replace")
    print(done.stdout.strip().split("\n")[-1], flush=True)


def users():
    """{mutant: tests that use it, those to be run first in front}"""
    using = collections.defaultdict(list)
    for end in HITS.glob("*.end"):
        outcome, seconds = end.read_text().split()
        test, *used = end.with_suffix("").read_text().split("\n")
        if outcome == "passed":  # when nothing is disabled
            for mutant in filter(None, used):
                using[mutant].append((test.startswith(LATE), float(seconds), test))
    return {mutant: [test for *_, test in sorted(tests)] for mutant, tests in using.items()}


def check(using):
    """{mutant: (verdict, the test or what was seen)}, by PROCESSES processes side by side."""
    shutil.rmtree(PLANS, ignore_errors=True)
    PLANS.mkdir(parents=True)
    running, said = [], {m: ("SURVIVED", "0 tests use it") for m, tests in using.items() if not tests}
    used = [(m, tests) for m, tests in using.items() if tests]
    for number in range(min(PROCESSES, len(used))):
        plan = dict(used[number::PROCESSES])
        (PLANS / str(number)).write_text(json.dumps(plan))
        files = sorted({test.split("::")[0] for tests in plan.values() for test in tests})
        environ = environment(MINIDYNAMO_MUTATE_PLAN=str(PLANS / str(number)))
        command = [*PYTEST, "-q", "-p", "mutate", "--timeout=300", *files]
        running.append(subprocess.Popen(command, cwd=TREE, env=environ, stdout=subprocess.DEVNULL))
    for number, process in enumerate(running):
        process.wait()
        verdicts = PLANS / f"{number}.verdicts"
        for line in verdicts.read_text().splitlines() if verdicts.exists() else ():
            mutant, verdict, what = line.split("\t", 2)
            said[mutant] = verdict, what
    return said


def main():
    words = [a for a in sys.argv[1:] if not a.startswith("-")]
    given = [a.removeprefix("--tests=") for a in sys.argv[1:] if a.startswith("--tests=")]
    folders = given[0].split(",") if given else ["tests"]
    if "--keep" not in sys.argv:
        build()
        record(folders)
    chosen = {m: text for m, text in mutants().items() if not words or any(w in text for w in words)}
    start, using = time.monotonic(), users()
    reasons = {m: reason for m, text in chosen.items() if (reason := unreachable(text))}
    said = check({m: using.get(m, []) for m in chosen if m not in reasons})
    counts, lines = collections.Counter(), []
    for mutant, text in chosen.items():
        unseen = "BROKEN", "its process ended before"
        verdict, what = ("unreachable", reasons[mutant]) if mutant in reasons else said.get(mutant, unseen)
        counts[mutant.split(":")[0], verdict] += 1
        lines.append(f"{text}\t{verdict}\t{what}")
        print(f"{text:60} {verdict:12} {what}")
    (ROOT / "out").mkdir(exist_ok=True)
    (ROOT / "out/mutants.tsv").write_text("\n".join(lines) + "\n")
    print(
        f"{time.monotonic() - start:.0f} s:", ", ".join(f"{n} {kind}s {v}" for (kind, v), n in sorted(counts.items()))
    )
    return 1 if any(v not in ("caught", "unreachable") for _, v in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
