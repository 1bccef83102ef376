"""Which frames of a stack are the program's, and which belong to what runs it: a kernel, a test runner, a shell."""

import os
import re
import sys

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
LIBRARY = os.path.dirname(os.__file__) + os.sep
INSTALLED = tuple(os.path.join(LIBRARY, name, "") for name in ("site-packages", "dist-packages"))
RESUME = re.compile(r"torch_dynamo_resume_in_(.*)_at_(\d+)$", re.DOTALL)
_FOLDERS = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


def resumed_function(name):
    """The function that a resume function of this name goes on with; None if it is none."""
    found = RESUME.match(name)
    return found and found[1]


def callers(with_columns=True, verbose=False):
    """The real stack above the compiled call, from where the program begins; without this package's own frames."""
    frames = _outside_of_package(sys._getframe(1))
    if not verbose:
        frames = frames[_first_of_program(frames) :]
    return [_row(frame, with_columns) for frame in frames]


def caller():
    """The innermost frame of that stack, whosever it is, in a list; an empty one where nothing called."""
    return [_row(frame, True) for frame in _outside_of_package(sys._getframe(1))[-1:]]


def _outside_of_package(frame):
    frames = []
    while frame is not None:
        if not frame.f_code.co_filename.startswith(PACKAGE):
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1]


def _first_of_program(frames):
    """Where the program begins: at the module that Python calls `__main__`, if that is one of the program's; else
    at the first frame that is not of a library. What a shell or a debugger runs from a text of its own (`%%time`)
    begins there."""
    own = [not _is_of_library(frame.f_code.co_filename) for frame in frames]
    main = getattr(sys.modules.get("__main__"), "__dict__", None)
    begins = [k for k, frame in enumerate(frames) if own[k] and frame.f_globals is main]
    first = begins[0] if begins else own.index(True) if True in own else len(frames)
    for k in begins[1:]:
        run_by_library = k > first + 1 or (first > 0 and frames[first].f_code.co_filename == "<string>")
        if run_by_library and not any(own[first + 1 : k]) and _is_run_as_text(frames[k]):
            first = k
    return first


def _is_run_as_text(frame):
    return frame.f_code.co_name == "<module>" or frame.f_code.co_filename.startswith("<")


def _is_of_library(file):
    """Python's own files, what has been installed, and the commands that come with that."""
    inside = [folder for folder in _FOLDERS if folder in file]
    return bool(inside) or file.startswith(("<frozen ", LIBRARY)) or _is_command(file)


def _is_command(file):
    """`pytest`, `ipython`: what installing a package has put where commands are."""
    folder, name = os.path.split(file)
    user = getattr(sys.modules.get("site"), "USER_BASE", None)
    places = [os.path.join(prefix, "bin") for prefix in (sys.prefix, sys.base_prefix, "/usr/local", user) if prefix]
    return "." not in name and folder in [os.path.dirname(sys.executable or ""), *places] and folder != ""


def _row(frame, with_columns):
    code = frame.f_code
    place = (code.co_filename, frame.f_lineno, code.co_name)
    return (*place, _columns(frame)) if with_columns else place


def _columns(frame):
    """(end line, column, end column) of what a frame executes; None: not known."""
    for k, (_, *columns) in enumerate(frame.f_code.co_positions()):
        if k == frame.f_lasti // 2:
            return None if None in columns else tuple(columns)
    return None
