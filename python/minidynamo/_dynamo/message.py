"""What every text for users is made of: codes and links, stacks, the closing part of errors, what is said only once.

The modules that write texts (report, recompile_report, marked_report, recording) stand on this one.
"""

import os
import sys
import threading
import traceback

from .._lock import process_lock
from . import config, source_text

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
lock = process_lock()  # of everything that is counted or said once
_warned = set()
_silent = threading.Event()  # nothing is said that was not asked for

VERBOSE_ADVICE = (
    "Set TORCHDYNAMO_VERBOSE=1 for the internal stack trace (please do this especially if you're reporting a bug to "
    'minidynamo). For even more developer context, set TORCH_LOGS="+dynamo"\n'
)


def code_name(code):
    """ "GB0124", or None for a break without a registry row."""
    return f"GB{code:04d}" if code is not None and code >= 0 else None


def is_published(code):
    """Whether a page describes the code; those from GB9000 on are our own."""
    return code < 9000


def link(code):
    return f"{config.registry_url.rstrip('/')}/gb/{code_name(code).lower()}.html"


def break_message(code, type_, context, explanation, hints):
    """The break as text, without any stack: what errors, logs, counters and explain() show."""
    if code_name(code) is None:
        return type_
    # A list: from 3.12 on CPython crashes where memory lacks for a generator.
    hint_lines = "\n".join([f"  Hint: {hint}" for hint in hints])
    text = f"{type_}\n  Explanation: {explanation}\n{hint_lines}\n\n  Developer debug context: {context}\n"
    if is_published(code):
        text += f"\n For more details about this graph break, please visit: {link(code)}"
    return text


def _is_ours(frame):
    return frame[0].startswith(PACKAGE)


def _without_entrance(frames):
    """Frames from the program's first on: a compiled module is entered by way of this package. Where all are this
    package's, the line that called it stands before them."""
    if config.verbose or not frames or not _is_ours(frames[0]):
        return frames
    for k, frame in enumerate(frames):
        if not _is_ours(frame):
            return frames[k:]
    return callers()[-1:] + list(frames)


def summaries(frames):
    """traceback.StackSummary of traced frames."""
    frames = _without_entrance(frames)
    return traceback.StackSummary.from_list([source_text.summary(f, n, name) for f, n, name in frames])


def stack_text(frames):
    return "".join(summaries(frames).format())


def _with_user_stack(message, frames):
    """The closing part all errors share."""
    text = message
    if frames:
        text += f"\n\nfrom user code:\n {stack_text(frames)}"
    return text + ("" if config.verbose else f"\n{VERBOSE_ADVICE}\n")


def finish(error, frames):
    """Gives an exception its full text and its stack."""
    error.real_stack = summaries(frames)
    error.args = (_with_user_stack(error.msg, frames), *error.args[1:])
    return error


def callers():
    """The real stack above the compiled call: this package's own frames removed."""
    frames = []
    frame = sys._getframe(1)
    while frame is not None:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            frames.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return frames[::-1]


# ---- once-only warnings ------------------------------------------------------------------------------------------


def silence():
    """No warnings from now on: the program's own are all there are. Logs that were switched on stay."""
    _silent.set()


def is_silent():
    """After silence()."""
    return _silent.is_set()


def first_time(key):
    if _silent.is_set():
        return False
    with lock:
        if key in _warned:
            return False
        _warned.add(key)
        return True


def forget():
    """Everything may be said once more."""
    with lock:
        _warned.clear()
