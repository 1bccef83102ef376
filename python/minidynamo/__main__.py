"""Command line: python -m minidynamo GB0124, explain WHAT, explain --fix GB0124, run SCRIPT, check SCRIPT."""

import argparse
import importlib
import sys

from ._commands import program_line
from ._commands.printed import complain, harmless, reason_of, say

_EPILOG = """\
`python -m minidynamo COMMAND --help` tells more of each. A code, or text that names one, is explained:
  python -m minidynamo GB0170
"""
_WITH_PROGRAMS = ("run", "check", "report", "ptx")  # what follows SCRIPT or MODULE is the program's
_COMMANDS = (*_WITH_PROGRAMS, "explain", "site")


def _modules(argv):
    """The module of the command that is asked for, or all. A program that `run` starts finds little imported."""
    names = argv[:1] if argv and argv[0] in _COMMANDS else _COMMANDS
    return {name: importlib.import_module(f"._commands.{name}", __package__) for name in names}


def _parser(modules):
    parser = argparse.ArgumentParser(
        prog="python -m minidynamo",
        description="Questions about graph breaks, and programs run compiled.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="store_true", help="the version of this package")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    return parser, {name: module.add_to(commands) for name, module in modules.items()}


def _answer(args, modules, commands):
    """(text to print, exit status, what is coloured); ends with a usage where nothing was asked."""
    if args.version:
        from . import __version__

        return f"minidynamo {__version__}", 0, ()
    module = modules[args.command]
    found = module.answer(args)
    if found is None:
        commands[args.command].error("explain what? A code, words, a file, or a traceback on the standard input")
    return (*found, getattr(module, "STYLES", ()))


def _meant(argv):
    """The command line with its command in full: a code alone is explained, a command may be shortened."""
    if not argv or argv[0].startswith("-") or argv[0] in _COMMANDS:
        return argv
    from ._commands.explain import codes_in

    if codes_in(argv[0]):
        return ["explain", *argv]
    full = [name for name in _COMMANDS if name.startswith(argv[0])]
    return [*full, *argv[1:]] if len(full) == 1 else argv


def main(argv=None):
    argv, arguments = _meant(sys.argv[1:] if argv is None else argv), []
    modules = _modules(argv)
    parser, commands = _parser(modules)
    if argv and argv[0] in _WITH_PROGRAMS:
        argv, arguments = program_line.split(argv, commands[argv[0]])
    elif argv and not argv[0].startswith("-") and argv[0] not in commands:
        word = harmless(argv[0], 100)
        parser.error(f"there is no command {word!r}: `explain {word}` looks for it among the breaks")
    args = parser.parse_args(argv)
    if not (args.command or args.version):
        parser.exit(2, parser.format_help())
    try:
        if args.command in _WITH_PROGRAMS:
            return modules[args.command].run(args, arguments)
        return say(*_answer(args, modules, commands))
    except KeyboardInterrupt:
        return 130
    except OSError as error:  # no folder for what runs, no process
        complain(reason_of(error))
        return 1


if __name__ == "__main__":
    sys.exit(main())
