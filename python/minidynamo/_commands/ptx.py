"""`ptx`: runs a program on this processor and writes what its graphs would be on a GPU, with all it takes to launch
them."""

import argparse
import os
import tempfile

from .._targets import PTX, TARGETS, refusal
from . import program_line

USAGE = "python -m minidynamo ptx [options] (SCRIPT | -m MODULE) [argument ...]"
_EPILOG = """\
examples:
  python -m minidynamo ptx --target sm_90 -o kernels model.py
  python -m minidynamo ptx --target gfx90a -o objects model.py

exit status: that of the program; 1 if the files cannot be written, 2 for a wrong command line
"""


def add_to(commands):
    """The parser of the command."""
    sub = commands.add_parser(
        "ptx", help="run a program and write its graphs as GPU programs", usage=USAGE, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    sub.add_argument("--target", metavar="TARGET", default="sm_90", help=f"for which GPU: {', '.join(TARGETS)}")
    sub.add_argument("-o", "--output", metavar="FOLDER", default="minidynamo-ptx", help="the folder they go to")
    program_line.add_ways(sub)
    program_line.add_program(sub)
    return sub


def run(args, arguments):
    """Runs the program, writes the files; the exit status, which is the program's."""
    from .printed import say

    if reason := refusal(args.target) or program_line.missing(args) or _unwritable(args.output):
        return say(f"python -m minidynamo ptx: {reason}", 2)
    from . import watched

    with tempfile.TemporaryDirectory(prefix="minidynamo-ptx-") as place:
        done = watched.run(program_line.for_python(args, arguments), place, artifacts=(), MINIDYNAMO_TARGET=args.target)
    programs = [event for event in done.events if event["kind"] == "target_program"]
    try:
        told = _write(args, [args.script or args.module, *arguments], programs)
    except OSError as error:
        say(f"python -m minidynamo ptx: cannot write {args.output}: {error.strerror}", 1)
        return done.status or 1
    say("\n".join(told), 1)  # to the standard error: the other is the program's
    return done.status


def _unwritable(folder):
    if not folder or "\0" in folder:
        return f"-o {folder!r}: this is no name of a folder"
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        return f"-o {folder}: {error.strerror}"
    return None if os.access(folder, os.W_OK | os.X_OK) else f"-o {folder}: it may not be written"


def _write(args, command, programs):
    from .._targets.files import Folder
    from .printed import harmless

    folder = Folder(args.output, args.target, command)
    for event in programs:
        folder.add(event)
    graphs, kernels, missing = folder.close()
    what = "PTX" if args.target in PTX else "code objects"
    told = [f"{args.output}: {_many(graphs, 'graph')}, {_many(kernels, 'kernel')} ({what}, {args.target})"]
    if missing:
        told.append(f"{_many(missing, 'launch')} without a kernel for GPUs: manifest.json says of each why")
    if not graphs:
        told.append("The program compiled no graph.")
    return [harmless(line) for line in [*told, *folder.notes]]


def _many(count, what):
    return f"{count:,} {what}{'' if count == 1 else 'es' if what.endswith('ch') else 's'}"
