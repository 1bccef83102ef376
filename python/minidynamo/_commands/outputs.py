"""Files that a command writes: looked at before the program runs, and put in place as a whole."""

import os
import stat
import sys

from . import printed


class Unwritable(Exception):
    """A file that cannot be written, and why."""


def prepare(files):
    """Refuses places that cannot be written, and two outputs in one place. `files`: {option: path}; "-" is stdout."""
    taken = {}
    for option, path in files.items():
        place = "-" if path in ("-", "/dev/stdout") else os.path.realpath(path)
        if place in taken and place != os.devnull:
            raise Unwritable(f"{taken[place]} and {option} name the same place: {printed.harmless(path)}")
        taken[place] = option
        if place != "-" and (reason := _refusal(path, place)):
            raise Unwritable(f"{option} {printed.harmless(path, 500)}: {reason}")


def _refusal(path, place):
    if not path or "\0" in path:
        return "this is no name of a file"
    if os.path.isdir(place):
        return "it is a folder"
    if os.path.exists(place):
        return None if os.access(place, os.W_OK) else "it may not be written"
    folder = os.path.dirname(place)
    if not os.path.isdir(folder):
        return "its folder does not exist"
    return None if os.access(folder, os.W_OK) else "its folder may not be written"


def put(path, text):
    """Writes a text, or bytes, as a file, whole or not at all; OSError or ValueError where that fails."""
    data = text if isinstance(text, bytes) else text.encode("utf-8", "backslashreplace")
    if path in ("-", "/dev/stdout"):
        printed.write(data.decode("utf-8").removesuffix("\n"), sys.stdout)
        return
    place = os.path.realpath(path)
    if os.path.exists(place) and not stat.S_ISREG(os.stat(place).st_mode):  # a device or a pipe
        with open(place, "wb") as out:
            out.write(data)
        return
    part = f"{place}.{os.getpid()}.part"
    try:
        with open(part, "wb") as out:
            out.write(data)
        os.replace(part, place)
    except OSError:
        _remove(part)
        if not (os.path.exists(place) and not os.access(os.path.dirname(place), os.W_OK)):
            raise
        with open(place, "wb") as out:  # a file that may be written in a folder that may not
            out.write(data)


def _remove(path):
    try:
        os.unlink(path)
    except OSError:
        pass
