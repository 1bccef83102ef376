"""Graphs as tables of text."""


def table_text(rows):
    """Rows of five cells under their headings, in columns."""
    heads = ("opcode", "name", "target", "args", "kwargs")
    widths = [max(len(head) + 2, *(len(row[k]) for row in rows)) for k, head in enumerate(heads)]
    rows = [heads, *rows]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
