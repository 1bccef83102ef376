"""`report`: runs a program and writes what the compiler did to it, and what that cost, as one file of HTML."""

import contextlib
import json
import os
import sys
import tempfile

from .._targets import TARGETS, refusal
from . import outputs, program_line

USAGE = "python -m minidynamo report [options] (--from FOLDER | SCRIPT | -m MODULE) [argument ...]"
_NAMES = ", ".join(TARGETS)
_ARTIFACTS = ("graph_code", "aot_graphs", "fusion", "guards")
_STYLES = ((r"(?m)^\d\. .*?:", "bold"), (r"(?m)^All of it: .*", "bold"), (r"(?m); [\d.]+ m?u?s\.$", "bold red"))
_MISSING = "python -m minidynamo report needs the package {}: pip install 'minidynamo[tools]'"


def add_to(commands):
    """The parser of the command."""
    sub = commands.add_parser("report", help="run a program and write a report of it as one HTML file", usage=USAGE)
    sub.add_argument("-o", "--output", metavar="FILE", default="minidynamo-report.html", help="where the report goes")
    sub.add_argument("--timeline", metavar="FILE", help="write the timeline as well, for Perfetto or Chrome")
    sub.add_argument("--json", metavar="FILE", help="write what the report tells as JSON as well")
    sub.add_argument("--from", dest="folder", metavar="FOLDER", help="report on events MINIDYNAMO_TRACE has written")
    sub.add_argument("--code", action="store_true", help="show machine code and bytecode, too (compiling takes longer)")
    sub.add_argument("--target", metavar="TARGET", help=f"show the graphs as programs for a GPU, too: {_NAMES}")
    program_line.add_ways(sub)
    program_line.add_program(sub, required=False)
    return sub


def run(args, arguments):
    """Runs the program, writes the report; the exit status, which is the program's."""
    from .printed import say

    if (args.folder is None) == (args.script is None and args.module is None):
        return say("python -m minidynamo report: name a program, or --from FOLDER", 2)
    try:
        reason = None if args.target is None else refusal(args.target)
        if reason or args.folder is None and (reason := program_line.missing(args)):
            raise outputs.Unwritable(reason)
        # Before the program runs, which may take hours.
        files = {"--output": args.output, "--timeline": args.timeline, "--json": args.json}
        outputs.prepare({option: path for option, path in files.items() if path is not None})
    except outputs.Unwritable as error:
        return say(f"python -m minidynamo report: {error}", 2)
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        return say(_MISSING.format(error.name), 2)
    if args.folder is not None:
        return _from_folder(args)
    place = tempfile.mkdtemp(prefix="minidynamo-report-")
    from . import watched

    target = {} if args.target is None else {"MINIDYNAMO_TARGET": args.target}
    artifacts = (*_ARTIFACTS, "output_code", "bytecode") if args.code else _ARTIFACTS
    try:
        done = watched.run(
            program_line.for_python(args, arguments), place, artifacts=artifacts, MINIDYNAMO_TRACE_COSTS="1", **target
        )
        from .._report.model import Run

        shown = [args.script or args.module, *arguments]
        written = _write(args, done.processes, Run(shown, done.status, done.signal, done.seconds))
    except BaseException:
        say(f"python -m minidynamo report: the events are kept in {place}", 1)
        raise
    if not written:
        say(f"The events are kept: python -m minidynamo report --from {place}", 1)
        return done.status or 1
    _remove(place)
    return done.status


def _from_folder(args):
    from .._events import folder
    from .printed import say

    try:
        names = sorted(name for name in os.listdir(args.folder) if name.endswith(".jsonl"))
        read = [list(folder.read(os.path.join(args.folder, name))) for name in names]
    except OSError as error:
        return say(f"python -m minidynamo report: {args.folder}: {error.strerror}", 2)
    read = sorted([events for events in read if events], key=lambda events: events[0].get("time", 0))
    if not read:
        return say(f"python -m minidynamo report: there are no events in {args.folder}", 2)
    return 0 if _write(args, read, None) else 1


def _write(args, processes, run):
    """Whether all files could be written."""
    from .._report import page, sentences, timeline
    from .._report.model import model
    from .printed import harmless, say, write

    found = model(processes, run)
    wanted = [(args.output, lambda: page.render(found, _settings(args)))]
    wanted += [(args.timeline, lambda: _json(timeline.trace(found)))] if args.timeline else []
    wanted += [(args.json, lambda: _json(found))] if args.json else []
    for path, make in wanted:
        try:
            outputs.put(path, make())
        except OSError as error:
            say(f"python -m minidynamo report: cannot write {path}: {error.strerror}", 1)
            return False
    with contextlib.suppress(OSError, ValueError):
        lines = ["", *sentences.summary(found), f"All of it: {args.output}"]
        write("\n".join([harmless(line.replace("µs", "us")) for line in lines]), sys.stderr, _STYLES)
    return True


def _json(data):
    return json.dumps(data, default=str).encode("utf-8", "replace")


def _settings(args):
    """Names of the environment that change what the compiler does, and our own options; of a folder nobody knows."""
    if args.folder is not None:
        return []
    names = [name for name in sorted(os.environ) if name.startswith(("MINIDYNAMO_", "TORCHDYNAMO_", "TORCH_LOGS"))]
    rows = [(name, os.environ[name]) for name in names]
    flags = [flag for flag in ("everything", "trace_more", "as_torch") if getattr(args, flag)]
    return [*rows, *[(f"--{flag.replace('_', '-')}", "on") for flag in flags]]


def _remove(place):
    import shutil

    shutil.rmtree(place, ignore_errors=True)
