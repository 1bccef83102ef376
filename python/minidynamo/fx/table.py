"""Graphs as tables of text."""


def table_text(rows):
    """Rows of five cells under their headings, in columns."""
    rows = [("opcode", "name", "target", "args", "kwargs"), *rows]
    widths = [max(len(row[k]) for row in rows) for k in range(5)]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
