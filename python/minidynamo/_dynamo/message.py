"""What every text for users is made of: codes and links, stacks, the closing part of errors, what is said only once.

The modules that write texts (report, recompile_report, marked_report, recording) stand on this one.
"""

import importlib
import threading
import traceback

from .._lock import process_lock
from . import config, source_text
from .program_frames import INSTALLED, LIBRARY, PACKAGE, caller

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


def code_number(name):
    """124 of "GB0124", -1 of None: what break_message() takes."""
    return -1 if name is None else int(name[2:])


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
    if config.registry_url and is_published(code):
        text += f"\n For more details about this graph break, please visit: {link(code)}"
    return f"{text}\n Explained offline by: python -m minidynamo explain {code_name(code)}"


def _is_ours(frame):
    return frame[0].startswith(PACKAGE)


def shown(frames):
    """The program's frames: code of this package that is traced counts to the line that called it, which stands for
    all where there is no other. With `config.verbose` nothing is hidden."""
    if config.verbose or not any(map(_is_ours, frames)):
        return frames
    return [frame for frame in frames if not _is_ours(frame)] or caller()


def place(frames):
    """(file, line) of the program's innermost frame. Python's own library is none of the program's."""
    frames = shown(frames)
    for file, line, *_ in reversed(frames):
        if not file.startswith((LIBRARY, "<frozen ")) or file.startswith(INSTALLED):
            return file, line
    return frames[-1][:2]


def summaries(frames):
    """traceback.StackSummary of traced frames."""
    return traceback.StackSummary.from_list([source_text.summary(*frame[:3]) for frame in shown(frames)])


def stack_text(frames):
    """The stack as Python's tracebacks show it, with carets where columns are known."""
    frames, text, times = shown(frames), [], 0
    for k, frame in enumerate(frames):
        times = times + 1 if k and frame == frames[k - 1] else 1
        if times <= 3:
            text.append(_frame_text(*frame))
        elif k + 1 == len(frames) or frames[k + 1] != frame:
            text.append(f"  [Previous line repeated {times - 3} more time{'s' if times > 4 else ''}]\n")
    return "".join(text)


def _frame_text(file, line, function, columns=None):
    source = source_text.line(file, line).strip()
    if source and columns is not None and min(columns) >= 0:
        # Here: it imports ast. No import statement: the program's own __import__ would see it.
        source = importlib.import_module(f"{__package__}.source_marks").underlined(file, line, *columns)
    shown_source = "".join(f"    {row}\n" for row in source.split("\n")) if source else ""
    return f'  File "{file}", line {line}, in {function}\n{shown_source}'


def finish(error, frames):
    """Gives an exception its full text, which ends like that of all errors, and its stack."""
    error.real_stack, error._stack_text, error._frames = summaries(frames), stack_text(frames), list(frames)
    stack = f"\n\nfrom user code:\n {error._stack_text}" if frames else ""
    advice = "" if config.verbose else f"\n{VERBOSE_ADVICE}\n"
    error.args = (f"{error.msg}{stack}{advice}", *error.args[1:])
    return error


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
