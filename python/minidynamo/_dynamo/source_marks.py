"""The source of one instruction, underlined: operators and argument lists stand out as in Python's tracebacks."""

import ast
import unicodedata

from . import source_text

_MOST_LINES = 4  # of an expression, in a stack


def marked_source(file, line, end_line, start, end, globals_):
    """Its physical lines, each followed by a line of marks. Columns count UTF-8 bytes; -1: not known."""
    lines = [source_text.line(file, n, globals_).rstrip("\n") for n in range(line, max(line, end_line) + 1)]
    if min(line, end_line, start, end) < 0 or not all(lines):
        return lines[0] if line > 0 else ""
    shown = []
    for text, first, marks in _marked(lines, start, end):
        shown += [text, " " * first + marks]
    return "\n".join(shown)


def underlined(file, line, end_line, start, end):
    """As a stack shows it: without the indentation that all its lines have, and without marks where they would be under
    everything. They stand right under wide characters, too."""
    lines = [source_text.line(file, n).rstrip("\n") for n in range(line, max(line, end_line) + 1)]
    whole = lines[0].strip()
    if not all(text.strip() for text in lines):
        return whole
    rows = _marked(lines, start, end)
    if not any([text[:first].strip() or text[first + len(marks) :].strip() for text, first, marks in rows]):
        return whole
    indent = min([len(text) - len(text.lstrip()) for text in lines])
    shown = []
    for text, first, marks in rows:
        before = "".join(["\t" if c == "\t" else " " * _width(c) for c in text[indent:first]])
        under = "".join([mark * _width(c) for mark, c in zip(marks, text[first:])])
        shown.append(f"{text[indent:].rstrip()}\n{before}{under}")
    if len(shown) > _MOST_LINES:
        shown[_MOST_LINES - 1 : -1] = [f"...<{len(shown) - _MOST_LINES} lines>..."]
    return "\n".join(shown)


def _width(character):
    """Columns of a terminal."""
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "FW" else 1


def _marked(lines, start, end):
    """(text, column of the first mark, marks) of each line."""
    bounds = [(len(text) - len(text.lstrip()), len(text.rstrip())) for text in lines]
    bounds[0] = (_characters(lines[0], start), bounds[0][1])
    bounds[-1] = (bounds[-1][0], _characters(lines[-1], end))
    anchor = _anchor([text[first:last] for text, (first, last) in zip(lines, bounds)])
    rows = []
    for row, (text, (first, last)) in enumerate(zip(lines, bounds)):
        rows.append((text, first, "".join([_mark(anchor, row, column - first) for column in range(first, last)])))
    return rows


def _characters(text, byte_column):
    return len(text.encode()[:byte_column].decode(errors="replace"))


def _mark(anchor, row, column):
    return "^" if anchor is None or anchor[0] <= (row, column) < anchor[1] else "~"


def _anchor(pieces):
    """((row, column), (row, column)) of the part that stands out; None: all of it."""
    try:
        (statement,) = ast.parse("(\n" + "\n".join(pieces) + "\n)").body
    except (SyntaxError, ValueError):
        return None
    node = getattr(statement, "value", None)
    last = (len(pieces) - 1, len(pieces[-1]))
    if isinstance(node, ast.BinOp):
        return _operator(pieces, _end(pieces, node.left), last)
    if isinstance(node, ast.Subscript):
        return _end(pieces, node.value), last
    if isinstance(node, ast.Call):
        return _end(pieces, node.func), last
    return None


def _end(pieces, node):
    row = node.end_lineno - 2
    return row, _characters(pieces[row], node.end_col_offset)


def _operator(pieces, after, last):
    row, column = after
    while (row, column) < last:
        text = pieces[row][column:]
        skipped = len(text) - len(text.lstrip(") \t\\"))
        if skipped < len(text) and text[skipped] != "#":
            width = 2 if text[skipped : skipped + 2] in ("**", "//", "<<", ">>") else 1
            return (row, column + skipped), (row, column + skipped + width)
        row, column = row + 1, 0
    return None
