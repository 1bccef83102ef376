"""Lines of source for messages. The program's `linecache` is read and never filled: what it holds is the program's."""

import builtins
import importlib.util
import linecache
import os
import traceback


def _private_copy():
    spec = importlib.util.find_spec("linecache")
    module = importlib.util.module_from_spec(spec)
    # From 3.13 on its functions import: a program's `__import__` has no part in that.
    module.__builtins__ = dict(vars(builtins))
    spec.loader.exec_module(module)
    return module


_own = _private_copy()


def lines(file, globals_=None):
    """The lines as `linecache.getlines` gives them after a look at the file, none where there is no source."""
    known = linecache.cache.get(file)
    if known and len(known) > 1 and _is_current(*known):
        return known[2]
    _own.checkcache(file)
    return _own.getlines(file, globals_)


def _is_current(size, modified, lines, path):
    """What the program's cache holds of a file is what the file holds; what is no file's (a cell) always is."""
    if modified is None:
        return True
    try:
        now = os.stat(path)
    except OSError:
        return True
    return (now.st_size, now.st_mtime) == (size, modified)


def line(file, number, globals_=None):
    """The line as `linecache.getline` gives it, "" where there is none."""
    known = lines(file, globals_)
    return known[number - 1] if 1 <= number <= len(known) else ""


def summary(file, number, function):
    """A traceback.FrameSummary that has its line already; no columns, so that no line of carets is printed."""
    return traceback.FrameSummary(file, number, function, line=line(file, number))
