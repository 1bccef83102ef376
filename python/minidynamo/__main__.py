"""Command line: python -m minidynamo GB0124, explain WHAT, explain --fix GB0124, run SCRIPT, check SCRIPT."""

import argparse
import sys

from ._commands import check, explain, program_line, report, run, site
from ._commands.printed import say

_EPILOG = """\
`python -m minidynamo COMMAND --help` tells more of each. A code, or text that names one, is explained:
  python -m minidynamo GB0170
"""
_WITH_PROGRAMS = {"run": run, "check": check, "report": report}  # what follows SCRIPT or MODULE is the program's
_OTHERS = {"explain": explain, "site": site}


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m minidynamo",
        description="Questions about graph breaks, and programs run compiled.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="the version of this package")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    return parser, {name: module.add_to(commands) for name, module in (_WITH_PROGRAMS | _OTHERS).items()}


def _answer(args, parser):
    """Text to print and exit status."""
    if args.version:
        from . import __version__

        return f"minidynamo {__version__}", 0
    found = _OTHERS[args.command].answer(args) if args.command else None
    if found is None:
        parser.error("a command is needed: explain CODE or WORDS, explain --list, run SCRIPT")
    return found


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    arguments = []
    parser, commands = _parser()
    if argv and argv[0] in _WITH_PROGRAMS:
        argv, arguments = program_line.split(argv, commands[argv[0]])
    elif argv and argv[0] != "explain" and explain.codes_in(argv[0]):
        argv = ["explain", *argv]
    args = parser.parse_args(argv)
    try:
        if args.command in _WITH_PROGRAMS:
            return _WITH_PROGRAMS[args.command].run(args, arguments)
        return say(*_answer(args, parser))
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
