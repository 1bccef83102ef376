"""`run`: a program as `python SCRIPT` or `python -m MODULE` would run it, compiled or with its frames counted."""

import argparse
import os

from . import program_line

USAGE = (
    "python -m minidynamo run [--everything] [--trace-more] [--as-torch] [--report FILE] (SCRIPT | -m MODULE) "
    "[argument ...]"
)
_EPILOG = """\
examples:
  python -m minidynamo run --as-torch train.py --epochs 1
  python -m minidynamo run --everything --report frames.json -m pytest tests

exit status: that of the program
"""


def add_to(commands):
    """The parser of the command."""
    sub = commands.add_parser(
        "run", help="run a program, compiled or with its frames counted", usage=USAGE, epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    program_line.add_ways(sub)
    sub.add_argument(
        "--report", metavar="FILE", help="write at exit, as JSON, how the frames of each function ended; - is stdout"
    )
    program_line.add_program(sub)
    return sub


def run(args, arguments):
    """Runs the program and exits as it does. Never returns."""
    from .._dynamo import run_program

    is_module = args.module is not None
    run_program.run(
        args.module if is_module else args.script,
        arguments,
        is_module=is_module,
        everything=args.everything,
        trace_more=args.trace_more,
        as_torch=args.as_torch,
        report_path=args.report if args.report in (None, "-") else os.path.abspath(args.report),
    )
