"""How commands print: paragraphs as wide as the terminal, text of programs made harmless, output that is cut off."""

import os
import re
import shutil
import sys
import textwrap

_WIDEST = 100
_JOINERS = "\u200c\u200d"  # parts of words and emoji; other invisible characters are shown by their numbers


def paragraph(text, first="  ", rest="  "):
    """A text in lines no wider than the terminal."""
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def harmless(text, limit=None, lines=False):
    """A program's text as it may be shown: what a terminal or an editor would act on is spelled out (\\x1b, \\u202e).

    It stays on one line unless `lines`; what is longer than `limit` characters is cut.
    """
    text = str(text)
    if limit is not None and len(text) > limit:
        text = text[: max(limit - 3, 0)] + "..."
    if text.isprintable():
        return text
    kept = _JOINERS + ("\n" if lines else "")
    spelled = [c if c.isprintable() or c in kept else "    " if c == "\t" else _spelled(c) for c in text]
    return "".join(spelled)


def _spelled(character):
    if character in "\n\r":
        return " "
    number = ord(character)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def is_coloured(out):
    """Whether colours go there: to terminals, and where FORCE_COLOR asks for them; never with NO_COLOR."""
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    try:
        return bool(os.environ.get("FORCE_COLOR")) or out.isatty()
    except (AttributeError, ValueError):
        return False


def write(text, out, styles=()):
    """Writes a text and a line's end there; OSError or ValueError if that fails.

    `styles`: [(pattern, style of rich)] of what is coloured on a terminal. Characters the output cannot hold are
    spelled out.
    """
    if out is None:
        raise ValueError("the standard stream is closed")
    if styles and is_coloured(out):
        text = _with_colours(text, styles)
    encoding = getattr(out, "encoding", None) or "utf-8"
    out.write(text.encode(encoding, "backslashreplace").decode(encoding) + "\n")
    out.flush()


def _with_colours(text, styles):
    """The same text with a terminal's codes; as it is where rich is not installed."""
    try:
        from rich.console import Console
        from rich.text import Text
    except ImportError:
        return text
    shown = Text(text)
    for pattern, style in styles:
        shown.highlight_regex(re.compile(pattern, re.MULTILINE), style)
    console = Console(force_terminal=True, width=1 << 20, legacy_windows=False)
    with console.capture() as captured:
        console.print(shown, end="", soft_wrap=True, highlight=False)
    return captured.get()


def reason_of(error):
    """Why something could not be read or written, in a few words."""
    return harmless(getattr(error, "strerror", None) or error, 2000)


def complain(text):
    """A line on the standard error, if there is one."""
    try:
        write(f"python -m minidynamo: {text}", sys.stderr)
    except (OSError, ValueError):
        pass


def silence(out):
    """Nothing more is written there, not at exit either."""
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
    except (AttributeError, OSError, ValueError):
        pass


def say(text, status=0, styles=()):
    """Prints an answer, or on stderr a refusal; the exit status, 1 where it cannot be written.

    A reader that has seen enough (`| head`) is no failure.
    """
    out = sys.stdout if status == 0 else sys.stderr
    try:
        write(text, out, styles)
    except (OSError, ValueError) as error:
        silence(out)
        if isinstance(error, BrokenPipeError):
            return status
        if status == 0:
            complain(reason_of(error))
            return 1
    return status
