"""How commands print: paragraphs as wide as the terminal, and output that may be cut off."""

import os
import shutil
import sys
import textwrap

_WIDEST = 100


def paragraph(text, first="  ", rest="  "):
    """A text in lines no wider than the terminal."""
    width = min(shutil.get_terminal_size((_WIDEST, 24)).columns, _WIDEST)
    return textwrap.fill(
        text, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False
    )


def say(text, status=0):
    """Prints an answer, or on stderr a refusal; the exit status, 1 where it cannot be written.

    A reader that has seen enough (`| head`) is no failure.
    """
    out = sys.stdout if status == 0 else sys.stderr
    try:
        print(text, file=out, flush=True)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())  # nothing more may be written at exit either
        if not isinstance(error, BrokenPipeError):
            print(f"python -m minidynamo: {error.strerror}", file=sys.stderr)
            return 1
    return status
