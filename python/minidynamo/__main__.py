"""Command line: python -m minidynamo GB0124, explain WHAT, explain --fix GB0124, explain --list, run SCRIPT."""

import argparse
import sys

from ._commands import explain, report, run, site
from ._commands.printed import say


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m minidynamo", description="Questions about graph breaks, and programs run compiled."
    )
    parser.add_argument("--version", action="store_true", help="the version of this package")
    commands = parser.add_subparsers(dest="command")
    run.add_to(commands)
    explain.add_to(commands)
    site.add_to(commands)
    report.add_to(commands)
    return parser


def _answer(args, parser):
    """Text to print and exit status."""
    if args.version:
        from . import __version__

        return f"minidynamo {__version__}", 0
    found = explain.answer(args) if args.command else None
    if found is None:
        parser.error("a command is needed: explain CODE or WORDS, explain --list, run SCRIPT")
    return found


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    arguments = []
    if argv[:1] == ["run"]:
        argv, arguments = run.split_at_program(argv)
    elif argv[:1] == ["report"]:
        argv, arguments = report.split_at_program(argv)
    elif argv and argv[0] != "explain" and explain.codes_in(argv[0]):
        argv = ["explain", *argv]
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command == "run":
        run.start(args, arguments)
    if args.command == "site":
        return say(*site.answer(args))
    if args.command == "report":
        return report.run(args, arguments)
    return say(*_answer(args, parser))


if __name__ == "__main__":
    sys.exit(main())
