"""Command line: python -m minidynamo GB0124, explain WORDS, explain --fix GB0124, explain --list, run SCRIPT."""

import argparse
import os
import re
import shutil
import sys
import textwrap

KINDS = {
    "fundamental": "no tracer can put this into a graph; the program has to be written differently",
    "supportable": "could be traced, but is not",
    "user_error": "plain Python fails here as well, or the API is used in a way it does not allow",
    "internal": "a defect of minidynamo",
}


# As logs, tracebacks and addresses write it: "GB0170", ".../gb/gb0170.html".
_CODE = re.compile(r"(?<![A-Za-z0-9])GB(\d{1,4})(?!\d)", re.IGNORECASE)

STATUSES = {
    "raised": "raised by this compiler",
    "synthetic": "raised only with a setting for tests",
    "internal": "never raised: it is about a state this tracer cannot be in. Where it is seen, that is a defect: "
    "please report the program with what TORCHDYNAMO_VERBOSE=1 prints",
    "superseded": "not raised: what it is about is traced",
    "unreachable": "not raised: what it is about is not here",
}


def _paragraph(text, first="  ", rest="  "):
    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def page(found):
    """All texts of one code."""
    from ._dynamo import message

    first = found[0]
    lines = [f"{first.code}  {first.type}", "", f"  Area: {first.area}", _paragraph(f"Kind: {KINDS[first.kind]}")]
    lines.append(_paragraph(f"Status: {STATUSES[first.status]}{'. ' + first.why if first.why else ''}"))
    if first.python:
        lines.append(
            _paragraph(f"Only on CPython {first.python}: others have no such instruction, or take another way.")
        )
    for b in found:
        case = b.id.partition("_")[2].replace("_", " ")
        lines += ["", f"What happened{f' ({case})' if case else ''}", _paragraph(b.explanation)]
        if b.hints:
            lines += ["", "What to do", *(_paragraph(hint, "  - ", "    ") for hint in b.hints)]
    if first.context:
        lines += ["", "Debug context", _paragraph(first.context)]
    if first.status == "raised":
        lines += ["", f"Programs with and without it: python -m minidynamo explain --fix {first.code}"]
    if message.is_published(int(first.code[2:])):
        lines += ["", f"See {message.link(int(first.code[2:]))}"]
    return "\n".join(lines)


def fixes(found):
    """A program that breaks with a code, and the same one without the break."""
    from .registry import programs

    first = found[0]
    lines = [f"{first.code}  {first.type}", ""]
    shown = programs.pair(first.code)
    if shown is None:
        reason = f": {STATUSES[first.status]}" if first.status != "raised" else ""
        return "\n".join([*lines, _paragraph(f"There is no program for this code{reason}.")])
    if first.python:
        lines += [_paragraph(f"Only on CPython {first.python}: others run the first program without this break."), ""]
    lines += [_paragraph(f"Breaks. {shown.about}"), "", textwrap.indent(shown.before, "    ")]
    if shown.after is not None:
        lines += ["", "  One graph:", "", textwrap.indent(shown.after, "    ")]
    return "\n".join(lines)


def _codes_in(text):
    """The codes a text names: bare numbers where there is nothing else, else what looks like a code."""
    words = [w for w in re.split(r"[\s,]+", text) if w]
    if words and all(re.fullmatch(r"(GB)?\d+", w, re.IGNORECASE) for w in words):
        return words
    return list(dict.fromkeys(f"GB{number:0>4}" for number in _CODE.findall(text)))


def _explain_code(code, fix=False):
    from . import registry

    try:
        return (fixes if fix else page)(registry.lookup(code)), 0
    except KeyError:
        last = registry.all_breaks()[-1].code
        return f"{code} is not in the registry: the codes are GB0000 to {last}. Words search the texts.", 2


def _list():
    from . import registry

    return "\n".join(f"{b.code}  {b.type}" for b in registry.all_breaks() if b.id == b.code)


def explain(words, fix=False):
    """Text to print and exit status. `fix`: programs instead of explanations."""
    from . import registry
    from .registry.search import search

    text = " ".join(words).strip()
    codes = _codes_in(text)
    if codes:
        pages = [_explain_code(code, fix) for code in codes]
        return "\n\n".join(shown for shown, _ in pages), max(status for _, status in pages)
    exact = [b for b in registry.all_breaks() if b.type.lower() == text.lower()]
    if exact:
        return (fixes if fix else page)(exact), 0
    found = search(text)
    if not found:
        return f"Nothing in the registry matches {text!r}.", 1
    lines = [f"{b.code}  {b.type}" for b in found]
    return "\n".join([*lines, "", f"python -m minidynamo explain {found[0].code} shows the first one in full."]), 0


RUN_USAGE = (
    "python -m minidynamo run [--everything] [--trace-more] [--as-torch] [--report FILE] (SCRIPT | -m MODULE) "
    "[argument ...]"
)


def _run_parser(commands):
    sub = commands.add_parser("run", help="run a program, compiled or with its frames counted", usage=RUN_USAGE)
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


def _split_at_program(argv):
    """(our options, the program's arguments): all after SCRIPT or MODULE is the program's."""
    at = 1
    while at < len(argv) and argv[at].startswith("-") and argv[at] != "-m":
        at += 2 if argv[at] == "--report" else 1
    at += 2 if argv[at : at + 1] == ["-m"] else 1
    return argv[:at], argv[at:]


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m minidynamo", description="Questions about graph breaks, and programs run compiled."
    )
    parser.add_argument("--version", action="store_true", help="the version of this package")
    commands = parser.add_subparsers(dest="command")
    _run_parser(commands)
    sub = commands.add_parser("explain", help="what a graph break means and how to avoid it")
    sub.add_argument("--list", action="store_true", help="all codes and their titles")
    sub.add_argument("--fix", action="store_true", help="a program that breaks so, and how it is written without")
    sub.add_argument(
        "words",
        nargs="*",
        metavar="CODE or WORDS",
        help="GB0124, a line of a log or an address that names a code, or words to look for in the texts",
    )
    return parser


def _answer(args, parser):
    """Text to print and exit status."""
    if args.version:
        from . import __version__

        return f"minidynamo {__version__}", 0
    if args.command is None or not (args.list or args.words):
        parser.error("a command is needed: explain CODE or WORDS, explain --list, run SCRIPT")
    return (_list(), 0) if args.list else explain(args.words, args.fix)


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    arguments = []
    if argv[:1] == ["run"]:
        argv, arguments = _split_at_program(argv)
    elif argv and argv[0] != "explain" and _codes_in(argv[0]):
        argv = ["explain", *argv]
    parser = _parser()
    args = parser.parse_args(argv)
    if args.command == "run":
        from ._dynamo import run_program

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
    text, status = _answer(args, parser)
    out = sys.stdout if status == 0 else sys.stderr
    try:
        print(text, file=out, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # nothing more may be written at exit either
        if not isinstance(error, BrokenPipeError):  # `| head` has seen enough
            print(f"python -m minidynamo: {error.strerror}", file=sys.stderr)
            return 1
    return status


if __name__ == "__main__":
    sys.exit(main())
