"""Source of the program, as far as it can be read now: lines, functions around a line, the part that was executed."""

import ast
import io
import os
import tokenize

_LARGEST = 4 << 20  # bytes of a file that is read


class Sources:
    """Source files, each read once. `started`: when the run began; a file changed after that is said to be."""

    def __init__(self, started=None):
        self._started, self._lines, self._trees, self._notes, self._seen = started, {}, {}, {}, {}
        self._around = {}

    def given(self, file, text):
        """The source of what has no file."""
        self._lines[file], self._notes[file] = text.split("\n"), ""

    def remember(self, file, line, text):
        """A line that events quote: it stands in for a file that cannot be read."""
        self._seen.setdefault((file, line), text)

    def lines(self, file):
        """The lines of a file without their ends; none where it cannot be read."""
        if file not in self._lines:
            self._lines[file], self._notes[file] = self._read(file)
        return self._lines[file]

    def note(self, file):
        """Why the source is not there, or may not be what ran; "" where all is well."""
        self.lines(file)
        return self._notes[file]

    def line(self, file, number):
        """One line, from the file or from what events quote of it."""
        lines = self.lines(file)
        if 1 <= number <= len(lines):
            return lines[number - 1]
        return self._seen.get((file, number), "")

    def _read(self, file):
        if not file or file.startswith("<"):
            return [], "It was made while the program ran and has no file."
        try:
            if not os.path.isfile(file):
                return [], "The file is not there any more."
            if os.path.getsize(file) > _LARGEST:
                return [], "The file is too large to be shown."
            with open(file, "rb") as raw:
                text = _decoded(raw.read())
            changed = self._started is not None and os.path.getmtime(file) > self._started
        except (OSError, ValueError) as error:
            return [], f"The file cannot be read ({getattr(error, 'strerror', None) or error})."
        return text.split("\n"), "The file has changed since the run began: lines may not fit." if changed else ""

    def tree(self, file):
        """The file's syntax tree; None where there is none."""
        if file not in self._trees:
            try:
                self._trees[file] = ast.parse("\n".join(self.lines(file))) if self.lines(file) else None
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                self._trees[file] = None
        return self._trees[file]

    def function_at(self, file, line):
        """(first line, last line, name, node) of the innermost function around a line; None outside of all."""
        if file not in self._around:
            self._around[file] = _functions_by_line(self.tree(file))
        return self._around[file].get(line)

    def executed(self, frame):
        """(before, executed, after) of a frame's line, by its columns; all of the line where they are not known."""
        text = self.line(frame["file"], frame["line"])
        shown = text.strip()
        if frame.get("column", -1) < 0 or not text:
            return "", shown, ""
        start = _characters(text, frame["column"])
        one_line = frame.get("end_line", frame["line"]) == frame["line"]
        end = _characters(text, frame["end_column"]) if one_line else len(text.rstrip())
        indent = len(text) - len(text.lstrip())
        if not indent <= start < end:
            return "", shown, ""
        return text[indent:start], text[start:end], text[end:].rstrip()


def _functions_by_line(tree):
    found, waiting = {}, [tree] if tree is not None else []
    while waiting:  # what is inside comes after what is around it
        inner = []
        for node in waiting:
            for child in ast.iter_child_nodes(node):
                inner.append(child)
                if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                    first = min([child.lineno, *(each.lineno for each in child.decorator_list)])
                    row = (first, child.end_lineno, child.name, child)
                    found.update(dict.fromkeys(range(first, child.end_lineno + 1), row))
        waiting = inner
    return found


def _characters(text, byte_column):
    return len(text.encode("utf-8", "surrogatepass")[:byte_column].decode("utf-8", "replace"))


def _decoded(data):
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        text = data.decode(encoding, "replace")
    except (SyntaxError, LookupError):
        text = data.decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\f", " ")


def short(file):
    """A path as a reader wants it: its last part, with the folder before it for files that are all called so."""
    if not file:
        return "?"
    parts = file.replace("\\", "/").rstrip("/").split("/")
    return "/".join(parts[-2:]) if parts[-1] in ("__init__.py", "__main__.py") else parts[-1]
