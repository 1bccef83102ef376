"""Command lines of the form `COMMAND [our options] (SCRIPT | -m MODULE) [the program's arguments]`."""

import os


def split(argv, sub):
    """(our part, the program's arguments): all that follows SCRIPT or MODULE is the program's.

    `sub`: the parser of the command, which tells what options take a value.
    """
    takes_value = {name: action.nargs != 0 for action in sub._actions for name in action.option_strings}
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] not in ("-m", "--"):
        name, equals, _ = argv[at].partition("=")
        meant = [name] if name in takes_value else [full for full in takes_value if full.startswith(name)]
        is_whole = name.startswith("--") or name in takes_value  # not -oFILE
        at += 2 if not equals and is_whole and len(meant) == 1 and takes_value[meant[0]] else 1
    if argv[at : at + 1] == ["--"]:
        argv = [*argv[:at], *argv[at + 1 :]]
    at += 2 if argv[at : at + 1] == ["-m"] else 1
    return argv[:at], argv[at:]


def add_program(sub, required=True):
    """SCRIPT or -m MODULE."""
    program = sub.add_mutually_exclusive_group(required=required)
    program.add_argument("-m", dest="module", metavar="MODULE", help="a module, as python -m")
    program.add_argument("script", metavar="SCRIPT", nargs="?", help="a file, or a folder with a __main__.py")


def add_ways(sub):
    """How the program is compiled."""
    sub.add_argument("--everything", action="store_true", help="compile every Python function the program runs")
    sub.add_argument("--trace-more", action="store_true", help="trace also what the reference breaks on by choice")
    sub.add_argument("--as-torch", action="store_true", help="`import torch` gives minidynamo (install_as_torch())")


def for_python(args, arguments):
    """What follows `python` to run the program as it was asked for."""
    program = ["-m", args.module] if args.module is not None else [args.script]
    ways = [f"--{name.replace('_', '-')}" for name in ("everything", "trace_more", "as_torch") if getattr(args, name)]
    return [*(["-m", "minidynamo", "run", *ways] if ways else []), *program, *arguments]


def missing(args):
    """Why there is no program to run, or None."""
    if args.module is not None:
        return None
    if not args.script or "\0" in args.script or not os.path.exists(args.script):
        return f"there is no file {args.script!r}"
    return None
