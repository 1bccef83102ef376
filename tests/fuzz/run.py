"""Random programs without end: goes on where the ledger stops, shrinks what fails, adds a line to the ledger.

    .venv/bin/python tests/fuzz/run.py --programs 10000 [--jobs 2] [--first SEED] [--seconds N]

tests/fuzz/ledger has a line per run: version of the generator, first and last seed, programs, failures. Seeds of a
generator that has changed since are other programs, so the digest of its first programs is its version. A failing
program is written to out/fuzz/SEED.py with what went wrong, made small.
"""

import argparse
import concurrent.futures
import faulthandler
import hashlib
import json
import pathlib
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]

LEDGER = HERE / "ledger"
FAILURES = HERE.parents[1] / "out/fuzz"
DIGESTED = 2000  # programs whose texts make the version
BATCH = 50  # programs of one process: a crash loses no more
SECONDS = 20  # for one program


def size_of(seed):
    return 4 + seed % 12


def version():
    """Of the generator: the same seed is the same program."""
    from fuzz.programs import program

    text = "\n".join(program(seed, size_of(seed)) for seed in range(DIGESTED))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def records():
    """(version, first, last, programs, failures) of each run so far."""
    if not LEDGER.exists():
        return []
    rows = [line.split() for line in LEDGER.read_text().splitlines() if line and not line.startswith("#")]
    return [(row[0], *map(int, row[1:])) for row in rows]


def next_seed():
    now = version()
    return max((last + 1 for name, _, last, *_ in records() if name == now), default=0)


class TimedOut(BaseException):
    """Not to be caught by the program."""


def limited(seconds, function, *args):
    def ring(*_):
        raise TimedOut

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        return function(*args)
    finally:
        signal.alarm(0)


def failure_of(source, seed):
    """What is wrong with the program; None if nothing is, or if it is none."""
    from fuzz.check import Differs, check

    try:
        limited(SECONDS, check, source, seed)
    except Differs as error:
        return str(error)
    except TimedOut:
        return "takes too long"
    except Exception as error:  # noqa: BLE001  not the program's: those are its behaviour
        return f"{type(error).__name__} while checking: {error}"
    return None


def kind_of(failure):
    """Which of a run's parts differed, so that shrinking does not slide into another failure."""
    return failure and failure.split(" of call")[0][:40]


def run_batch(first, last):
    """In a process of its own: a JSON line per failing seed, and the seed that is being run as it goes."""
    from fuzz.programs import program

    faulthandler.enable()
    for seed in range(first, last + 1):
        print(json.dumps({"seed": seed}), flush=True)
        failure = failure_of(program(seed, size_of(seed)), seed)
        if failure:
            print(json.dumps({"seed": seed, "failure": failure}), flush=True)


def supervise(first, last):
    """(seed, failure) pairs of the batch, crashes and hangs of the process among them."""
    found = []
    while first <= last:
        command = [sys.executable, __file__, "--batch", str(first), str(last)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=(last - first + 1) * SECONDS)
            status, text, errors = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as late:
            status, text, errors = "hangs", (late.stdout or b"").decode(), ""
        rows = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
        found += [(row["seed"], row["failure"]) for row in rows if "failure" in row]
        if status == 0:
            break
        at = rows[-1]["seed"] if rows else first
        found.append((at, f"the process ends with {status}\n{errors[-3000:]}"))
        first = at + 1
    return found


def fails_alike(seed, failure):
    """A test for shrink(): in this process, or, if the failure ended a process, in new ones."""
    if not failure.startswith("the process"):
        kind = kind_of(failure)
        return lambda source: kind_of(failure_of(source, seed)) == kind

    def crashes(source):
        path = FAILURES / f"{seed}.candidate.py"
        path.write_text(source)
        command = [sys.executable, __file__, "--source", str(path), "--first", str(seed)]
        try:
            return subprocess.run(command, capture_output=True, timeout=SECONDS).returncode < 0
        except subprocess.TimeoutExpired:
            return False

    return crashes


def report(seed, failure):
    """Writes the failing program, small; in a process of its own."""
    from fuzz.programs import program
    from fuzz.shrink import shrink

    FAILURES.mkdir(parents=True, exist_ok=True)
    source = program(seed, size_of(seed))
    (FAILURES / f"{seed}.full.py").write_text(source)
    small = shrink(source, fails_alike(seed, failure), steps=600 if failure.startswith("the process") else 2000)
    last = failure_of(small, seed) if not failure.startswith("the process") else failure
    comment = "".join(f"# {line}\n" for line in (last or failure).splitlines())
    (FAILURES / f"{seed}.py").write_text(f"{small}\n\n{comment}")
    print(f"--- seed {seed}\n{small}\n{comment}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--first", type=int, help="a seed to begin with; nothing is written to the ledger")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after that long")
    parser.add_argument("--keep", type=int, default=10, help="how many failures are made small")
    parser.add_argument("--batch", nargs=2, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--source", help=argparse.SUPPRESS)
    parser.add_argument("--shrink", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        return run_batch(*options.batch)
    if options.source:
        return failure_of(pathlib.Path(options.source).read_text(), options.first)
    if options.shrink:
        return report(int(options.shrink[0]), pathlib.Path(options.shrink[1]).read_text())
    return explore(options)


def explore(options):
    first = next_seed() if options.first is None else options.first
    end = first + options.programs
    started, failures, last = time.time(), [], first - 1
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for at in range(first, end, BATCH * options.jobs):
            if time.time() - started > options.seconds:
                break
            starts = range(at, min(end, at + BATCH * options.jobs), BATCH)
            for found in pool.map(lambda s: supervise(s, min(s + BATCH, end) - 1), starts):
                failures += found
                for seed, failure in found:
                    print(f"seed {seed}: {failure.splitlines()[0]}", flush=True)
            last = min(end, at + BATCH * options.jobs) - 1
            print(f"{last - first + 1} programs, {len(failures)} failures, {time.time() - started:.0f} s", flush=True)
    FAILURES.mkdir(parents=True, exist_ok=True)
    for seed, failure in failures[: options.keep]:
        path = FAILURES / f"{seed}.txt"
        path.write_text(failure)
        subprocess.run([sys.executable, __file__, "--shrink", str(seed), str(path)])
    if options.first is None and last >= first:
        with LEDGER.open("a") as ledger:
            ledger.write(f"{version()} {first} {last} {last - first + 1} {len(failures)}\n")
    print(f"{last - first + 1} programs, failing seeds: {[seed for seed, _ in failures]}")
    print(f"{sum(row[3] for row in records())} programs in the ledger")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
