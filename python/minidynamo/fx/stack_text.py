"""Frames of the program that is traced, without those that trace it."""

import linecache
import os
import sys

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep
_PACKAGE = os.path.dirname(os.path.dirname(_OWN)) + os.sep


def _is_own(frame):
    return frame.f_code.co_filename.startswith(_OWN)


def _text(frame):
    code = frame.f_code
    line = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
    return f'  File "{code.co_filename}", line {frame.f_lineno}, in {code.co_name}\n    {line}\n'


def user_frame(frame):
    """ "file:line: code" of the innermost frame, from `frame` outwards, that is the program's; None if none is."""
    while frame is not None:
        if not frame.f_code.co_filename.startswith(_PACKAGE):
            code = frame.f_code
            line = linecache.getline(code.co_filename, frame.f_lineno, frame.f_globals).strip()
            return f"{code.co_filename}:{frame.f_lineno}: {line}"
        frame = frame.f_back
    return None


def user_stack(outermost):
    """The frames of the program as a stack trace, from the function named `outermost` inwards."""
    texts, frame = [], sys._getframe(1)
    while frame is not None:
        if not _is_own(frame):
            texts.append(_text(frame))
            if frame.f_code.co_name == outermost and (frame.f_back is None or _is_own(frame.f_back)):
                break
        frame = frame.f_back
    return "".join(reversed(texts)).strip()
