"""Places in a program: whose code it is, how it is named to people and in files of other tools, what stands there."""

import os
import tokenize
import urllib.parse

from .._dynamo import message

_LIBRARY = os.path.dirname(os.__file__) + os.sep
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_LARGEST = 8 << 20  # bytes of a source file that is read
_ROOTS = (".git", ".hg", ".svn")


def project_root(start):
    """The folder that paths in reports start from: the checkout around `start`, else `start` itself."""
    given = [os.environ.get(name) for name in ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")]
    for folder in filter(None, given):
        if is_below(start, os.path.realpath(folder)):
            return os.path.realpath(folder)
    folder = start
    while True:
        if any(os.path.exists(os.path.join(folder, name)) for name in _ROOTS):
            return folder
        above = os.path.dirname(folder)
        if above == folder:
            return start
        folder = above


def is_below(path, folder):
    """Whether a path is a folder or lies in it."""
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


class Places:
    """What is known of files, as seen from the folder a program was started in."""

    def __init__(self, start=None):
        self.start = os.path.realpath(start or os.getcwd())
        self.root = project_root(self.start)
        self._lines = {}

    def absolute(self, file):
        """The path of a file of an event; None for what is no file (<string>)."""
        if file.startswith("<") or "\0" in file or not file:
            return None
        return os.path.normpath(os.path.join(self.start, file))

    def is_own(self, file):
        """Whether it is the program's: not Python's library, not this package's, nothing that was installed."""
        path = self.absolute(file)
        if path is None:
            return not file.startswith("<frozen ")
        return not (path.startswith((message.PACKAGE, _LIBRARY)) or any(part in path for part in _INSTALLED))

    def relative(self, file):
        """The path from the project's root, with slashes; None if it lies outside."""
        path = self.absolute(file)
        if path is None:
            return None
        for name in (path, os.path.realpath(path)):
            if is_below(name, self.root):
                return os.path.relpath(name, self.root).replace(os.sep, "/")
        return None

    def uri(self, file):
        """(URI, whether it starts at the root); None for what is no file."""
        path = self.absolute(file)
        if path is None:
            return None
        relative = self.relative(file)
        if relative is None:
            return "file://" + quoted(path), False
        return quoted(relative), True

    def root_uri(self):
        """That of the root, ending in a slash."""
        return "file://" + quoted(self.root.rstrip("/") + "/")

    def shown(self, file):
        """As people are told: from the folder they are in where that is shorter."""
        path = self.absolute(file)
        if path is None:
            return file
        return os.path.relpath(path, self.start) if is_below(path, self.start) else path

    def text(self, file, line):
        """The line of a source file, without its end; "" if it cannot be read."""
        if file not in self._lines:
            self._lines[file] = _lines_of(self.absolute(file))
        lines = self._lines[file]
        return lines[line - 1] if 0 < line <= len(lines) else ""

    def give(self, file, text):
        """The source of what is in no file, as its process has told it."""
        if self.absolute(file) is None or not os.path.exists(self.absolute(file)):
            self._lines.setdefault(file, text.split("\n"))

    def column(self, file, line, offset):
        """The characters that stand before an offset in bytes of UTF-8; None if the line is shorter or unknown."""
        encoded = self.text(file, line).encode("utf-8", "replace")
        if offset is None or not 0 <= offset <= len(encoded) or not encoded:
            return None
        return len(encoded[:offset].decode("utf-8", "ignore"))


def quoted(path):
    """A path as part of a URI; names that are no text keep their bytes."""
    return urllib.parse.quote_from_bytes(os.fsencode(path), safe="/")


def _lines_of(path):
    try:
        if path is None or not os.path.isfile(path) or os.path.getsize(path) > _LARGEST:
            return []
        with tokenize.open(path) as file:
            return file.read().split("\n")
    except (OSError, SyntaxError, ValueError):
        return []
