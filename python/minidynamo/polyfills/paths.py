"""os.fspath and sys.intern, which pathlib calls."""

import os
import sys


def fspath(path):
    if isinstance(path, (str, bytes)):
        return path
    cls = type(path)
    if not hasattr(cls, "__fspath__"):
        raise TypeError(f"expected str, bytes or os.PathLike object, not {cls.__name__}")
    given = cls.__fspath__(path)
    if not isinstance(given, (str, bytes)):
        raise TypeError(f"expected {cls.__name__}.__fspath__() to return str or bytes, not {type(given).__name__}")
    return given


def intern(string, /):
    if not isinstance(string, str):
        raise TypeError(f"intern() argument must be str, not {type(string).__name__}")
    if type(string) is not str:
        raise TypeError(f"can't intern {type(string).__name__}")
    return string


TABLE = {os.fspath: fspath, sys.intern: intern}
