"""`check`: runs a program and fails when it breaks graphs, for people before a commit and for CI after it."""

import argparse
import dataclasses
import json
import os
import sys
import tempfile
import time

from . import annotations, baseline, junit, outputs, program_line, sarif, summary, watched
from .criteria import DEFAULT, Criteria, counts
from .findings import gather
from .places import Places
from .printed import complain, harmless, reason_of, silence, write

USAGE = "python -m minidynamo check [options] (SCRIPT | -m MODULE) [argument ...]"
FINE, FINDINGS, USED_WRONGLY, PROGRAM_FAILED, NOT_WRITTEN = range(5)
_EPILOG = f"""\
what fails: --fail-on and --ignore take kinds (break, limit, error, recompile, plain, skip, all, none), codes
  (GB0059, GB0100-GB0120, GB01*) and areas (control-flow, ...), separated by commas. Without --fail-on: {DEFAULT}.
  Breaks in installed packages and in Python's library are told, but do not fail, unless --only names them.

exit status: 0 the check passed; 1 findings fail it; 2 wrong usage; 3 the program itself failed (its own status is
  told); 4 an output could not be written

examples:
  python -m minidynamo check train.py --epochs 1
  python -m minidynamo check --fail-on GB0170,limit --junit breaks.xml -m pytest tests
  python -m minidynamo check --write-baseline known.json train.py
  python -m minidynamo check --baseline known.json --sarif breaks.sarif train.py
"""


@dataclasses.dataclass
class Checked:
    """All that outputs tell of a check."""

    command: list  # the program and its arguments
    places: Places
    ran: watched.Watched
    started: float  # seconds since the epoch
    findings: list
    fail_on: str
    script: str | None = None  # as it was given; None: a module
    max_breaks: int | None = None
    has_baseline: bool = False
    stale: int = 0  # places of the baseline that were not met
    notes: list = dataclasses.field(default_factory=list)
    breaks: int = 0  # places that break graphs, without the known ones

    @property
    def reported(self):
        """The findings in files that count: what other tools are told of."""
        return [finding for finding in self.findings if finding.verdict != "elsewhere"]

    @property
    def too_many(self):
        """What is said when there are more breaks than --max-breaks allows, else ""."""
        if self.max_breaks is None or self.breaks <= self.max_breaks:
            return ""
        return f"graphs break at {self.breaks} places; --max-breaks allows {self.max_breaks}"

    @property
    def ending(self):
        """How the program ended."""
        if self.ran.signal:
            return f"the program was ended by {self.ran.signal}"
        return f"the program ended with status {self.ran.status}"

    @property
    def status(self):
        """The exit status of the check."""
        if self.ran.status:
            return PROGRAM_FAILED
        return FINDINGS if self.too_many or any(f.verdict == "fails" for f in self.findings) else FINE


def _number(text):
    number = int(text)
    if number < 0:
        raise ValueError
    return number


def add_to(commands):
    """The parser of the command."""
    sub = commands.add_parser(
        "check", help="run a program and fail when it breaks graphs (for CI)", usage=USAGE, epilog=_EPILOG,
        description="Runs a program in a process of its own and tells where it breaks graphs, is compiled again or "
        "runs as plain Python.", formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    sub.add_argument("--fail-on", metavar="WHAT", help=f"what fails the check (default: {DEFAULT})")
    sub.add_argument("--ignore", metavar="WHAT", default="", help="what does not fail it, of what else would")
    sub.add_argument(
        "--max-breaks", metavar="N", type=_number, help="allow graph breaks at N places; breaks fail only beyond that"
    )
    sub.add_argument("--baseline", metavar="FILE", help="findings that are known and do not fail")
    sub.add_argument("--write-baseline", metavar="FILE", help="make all findings of this run known")
    sub.add_argument("--only", metavar="PATH", action="append", default=[], help="only files there count (repeatable)")
    sub.add_argument(
        "--exclude", metavar="GLOB", action="append", default=[], help="files that do not count (repeatable)"
    )
    sub.add_argument("--sarif", metavar="FILE", help="write SARIF 2.1.0")
    sub.add_argument("--junit", metavar="FILE", help="write JUnit XML")
    sub.add_argument("--gitlab", metavar="FILE", help="write GitLab's Code Quality JSON")
    sub.add_argument("--json", metavar="FILE", help="write all of it as JSON; - is the standard output")
    sub.add_argument(
        "--github", action="store_true", help="print annotations for GitHub (always where GITHUB_ACTIONS is true)"
    )
    sub.add_argument("--quiet", "-q", action="store_true", help="say only how the check ended")
    program_line.add_ways(sub)
    program_line.add_program(sub)
    return sub


def as_json(checked):
    """The shape that docs/command_line.md describes."""
    ran, places = checked.ran, checked.places
    rows = []
    for finding in checked.findings:
        row = dataclasses.asdict(finding)
        row["path"], row["file"] = places.relative(finding.file), harmless(finding.file)
        row["path"] = row["path"] and harmless(row["path"])
        row["fingerprint"] = finding.fingerprint(places.relative(finding.file) or finding.file)
        row["stack"] = [{"file": harmless(f), "line": line, "function": name} for f, line, name in finding.stack]
        rows.append(row)
    processes = [
        {"pid": events[0].get("pid"), "complete": events[-1]["kind"] == "end"} for events in ran.processes
    ]  # fmt: skip
    content = {
        "version": 1,
        "status": checked.status,
        "passed": checked.status == FINE,
        "program": {
            "command": [harmless(word) for word in checked.command], "status": ran.status, "signal": ran.signal,
            "seconds": round(ran.seconds, 3), "processes": processes,
        },
        "fail_on": checked.fail_on,
        "max_breaks": checked.max_breaks,
        "breaks": checked.breaks,
        "stale": checked.stale,
        "notes": checked.notes,
        "findings": rows,
    }  # fmt: skip
    return json.dumps(content, indent=1) + "\n"


_RENDERERS = {"json": as_json, "sarif": sarif.render, "junit": junit.render, "gitlab": annotations.gitlab}


def _files(args):
    named = {f"--{name}": getattr(args, name) for name in _RENDERERS}
    named["--write-baseline"] = args.write_baseline
    return {option: path for option, path in named.items() if path is not None}


def _known(args):
    """The baseline that is to be used; one that is only about to be written is empty."""
    if args.baseline is None:
        return None
    if args.baseline == args.write_baseline and not os.path.exists(args.baseline):
        return {}
    try:
        return baseline.read(args.baseline)
    except (OSError, ValueError, baseline.BadBaseline) as error:
        raise outputs.Unwritable(f"--baseline {harmless(args.baseline, 500)}: {reason_of(error)}") from None


def _notes(ran):
    """What makes the findings less than complete."""
    notes = []
    if not ran.processes:
        notes.append("the program did not import minidynamo: nothing was compiled")
    elif not any(event["kind"] in ("compile", "break", "skip", "limit") for event in ran.events):
        notes.append("no function was compiled")
    if ran.has_no_end and not ran.signal:
        notes.append("the program's record has no end: it left by os._exit, or no more could be written")
    return notes


def _judge(checked, args, known, criteria, ignored):
    """Sets what each finding is to the check."""
    places = checked.places
    counting = []
    for finding in checked.findings:
        if counts(finding, places, args.only, args.exclude):
            counting.append(finding)
        else:
            finding.verdict = "elsewhere"
    if args.write_baseline is not None:
        for finding in counting:
            finding.verdict = "known"
    elif known is not None:
        checked.stale = baseline.mark_known(counting, known, places)
    breaks = [f for f in counting if f.kind == "break" and f.verdict != "known" and f not in ignored]
    checked.breaks = len({(f.file, f.line) for f in breaks})
    for finding in counting:
        if finding.verdict != "known" and finding in criteria and finding not in ignored:
            finding.verdict = "fails"
    return counting


def _write_all(checked, args, counting):
    """Writes every file; whether all could be."""
    fine = True
    for option, path in _files(args).items():
        try:
            if option == "--write-baseline":
                outputs.put(path, baseline.as_text(counting, checked.places))
            else:
                outputs.put(path, _RENDERERS[option[2:]](checked))
        except (OSError, ValueError) as error:
            if path == "-":
                silence(sys.stdout)
            if not isinstance(error, BrokenPipeError):
                complain(f"{option} {harmless(path, 500)} cannot be written: {reason_of(error)}")
                fine = False
    return fine


def _tell(checked, args):
    """The summary on stderr, the annotations on stdout; whether they could be written."""
    wanted = args.github or os.environ.get("GITHUB_ACTIONS") == "true"
    lines = annotations.github(checked) if wanted else ""
    told = [(summary.verdict(checked) if args.quiet else summary.text(checked), sys.stderr, summary.STYLES)]
    if lines:  # whoever reads JSON from stdout gets nothing else there
        told.append((lines, sys.stderr if args.json == "-" else sys.stdout, ()))
    fine = True
    for text, out, styles in told:
        try:
            write(text, out, styles)
        except (OSError, ValueError) as error:
            silence(out)
            fine = fine and isinstance(error, BrokenPipeError)
    return fine


def run(args, arguments):
    """Checks a program; the exit status."""
    try:
        if reason := program_line.missing(args):
            raise outputs.Unwritable(reason)
        # With --max-breaks it is the number of breaks that fails, not each of them.
        by_default = DEFAULT if args.max_breaks is None else DEFAULT.replace("break,", "")
        criteria = Criteria(args.fail_on if args.fail_on is not None else by_default)
        ignored = Criteria(args.ignore)
        outputs.prepare(_files(args))
        known = _known(args)
        folder = tempfile.TemporaryDirectory(prefix="minidynamo-", ignore_cleanup_errors=True)
    except (OSError, ValueError, outputs.Unwritable) as error:
        complain(f"check: {harmless(reason_of(error), 1000)}")
        return USED_WRONGLY
    with folder as into:
        places, started = Places(), time.time()
        try:
            ran = watched.run(program_line.for_python(args, arguments), into, artifacts=())
        except (OSError, ValueError) as error:
            complain(f"check: the program cannot be started: {reason_of(error)}")
            return USED_WRONGLY
        program = ["-m", args.module] if args.module is not None else [args.script]
        checked = Checked(
            [harmless(word, 1000) for word in (*program, *arguments)], places, ran, started,
            gather(ran.processes, places), criteria.text, args.script if args.module is None else None, args.max_breaks,
            known is not None, notes=_notes(ran),
        )  # fmt: skip
    counting = _judge(checked, args, known, criteria, ignored)
    fine = _write_all(checked, args, counting)
    fine = _tell(checked, args) and fine
    return checked.status if fine else NOT_WRITTEN
