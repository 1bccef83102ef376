"""`run`: a program as `python SCRIPT` or `python -m MODULE` would run it, compiled or with its frames counted."""

import os

USAGE = (
    "python -m minidynamo run [--everything] [--trace-more] [--as-torch] [--report FILE] (SCRIPT | -m MODULE) "
    "[argument ...]"
)


def add_to(commands):
    """The parser of the command."""
    sub = commands.add_parser("run", help="run a program, compiled or with its frames counted", usage=USAGE)
    sub.add_argument("--everything", action="store_true", help="compile every Python function the program runs")
    sub.add_argument("--trace-more", action="store_true", help="trace also what the reference breaks on by choice")
    sub.add_argument("--as-torch", action="store_true", help="`import torch` gives minidynamo (install_as_torch())")
    sub.add_argument(
        "--report", metavar="FILE", help="write at exit, as JSON, how the frames of each function ended; - is stdout"
    )
    program = sub.add_mutually_exclusive_group(required=True)
    program.add_argument("-m", dest="module", metavar="MODULE", help="a module, as python -m")
    program.add_argument("script", metavar="SCRIPT", nargs="?", help="a file, or a folder with a __main__.py")
    return sub


def split_at_program(argv):
    """(our options, the program's arguments): all after SCRIPT or MODULE is the program's."""
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-m":
        at += 2 if argv[at] == "--report" else 1
    at += 2 if argv[at : at + 1] == ["-m"] else 1
    return argv[:at], argv[at:]


def start(args, arguments):
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
