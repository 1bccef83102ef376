"""Draws the diagrams of the documents, `graph BT` and the like with boxes and arrows, as SVG."""

import re

from markupsafe import Markup

_HEAD = re.compile(r"(?:graph|flowchart)\s+(BT|TB|TD|LR|RL)\s*$")
_NODE = r"(\w+)(?:\[(?:\"([^\"]*)\"|([^\]]*))\])?"
_ARROW = re.compile(rf"{_NODE}\s*-->\s*{_NODE}$")
_WIDTH, _HEIGHT, _ACROSS, _DOWN = 8, 30, 22, 44  # of a letter, a box, and between boxes


def _edges(lines):
    """({name: label}, [(from, to)]); None: there is something else in the diagram."""
    labels, arrows = {}, []
    for line in lines:
        found = _ARROW.match(line.strip().rstrip(";"))
        if not found:
            return None
        for name, quoted, plain in (found.groups()[:3], found.groups()[3:]):
            label = quoted or plain
            labels[name] = label or labels.get(name, name)
        arrows.append((found[1], found[4]))
    return labels, arrows


def _levels(labels, arrows):
    """{name: how many arrows are below it at most}; None: they go round in a circle."""
    level = dict.fromkeys(labels, 0)
    for _ in range(len(labels)):
        changed = False
        for start, end in arrows:
            if level[start] < level[end] + 1:
                level[start], changed = level[end] + 1, True
        if not changed:
            return level
    return None


def _places(labels, level):
    """({name: (middle, top)}, width, height): what is built upon at the bottom."""
    rows = [[name for name in labels if level[name] == at] for at in range(max(level.values()) + 1)]
    widths = [sum(_box(labels[name]) + _ACROSS for name in row) for row in rows]
    whole, places = max(widths), {}
    for at, row in enumerate(rows):
        left = (whole - widths[at]) / 2
        for name in row:
            size = _box(labels[name]) + _ACROSS
            places[name] = (left + size / 2, (len(rows) - 1 - at) * (_HEIGHT + _DOWN) + 4)
            left += size
    return places, whole, len(rows) * (_HEIGHT + _DOWN) - _DOWN + 8


def _box(label):
    return len(label) * _WIDTH + 18


def _arrow(start, end):
    (x, y), (to_x, to_y) = (start[0], start[1] + _HEIGHT), (end[0], end[1] - 1)
    bend = (to_y - y) / 2
    line = f"M{x:.0f},{y:.0f} C{x:.0f},{y + bend:.0f} {to_x:.0f},{to_y - bend:.0f} {to_x:.0f},{to_y - 6:.0f}"
    head = f"M{to_x:.0f},{to_y:.0f} l-4,-8 h8 z"
    return Markup('<path d="{}"/><path class="head" d="{}"/>').format(line, head)


def drawn(text):
    """The diagram as SVG, its arrows as text below; None where it is of another kind."""
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("%%")]
    found = _edges(lines[1:]) if lines and _HEAD.match(lines[0].strip()) else None
    level = _levels(*found) if found and found[1] else None
    if level is None:
        return None
    labels, arrows = found
    places, width, height = _places(labels, level)
    parts = [_arrow(places[start], places[end]) for start, end in arrows]
    for name, label in labels.items():
        x, y = places[name]
        size = _box(label)
        parts.append(
            Markup('<rect x="{:.0f}" y="{:.0f}" width="{}" height="{}" rx="5"/>').format(x - size / 2, y, size, _HEIGHT)
        )
        parts.append(Markup('<text x="{:.0f}" y="{:.0f}">{}</text>').format(x, y + 20, label))
    told = Markup("").join(Markup("<li>{} → {}</li>").format(labels[a], labels[b]) for a, b in arrows)
    return Markup(
        '<figure class="diagram"><svg viewBox="0 0 {0:.0f} {1:.0f}" width="{0:.0f}" height="{1:.0f}" role="img" '
        'aria-label="Diagram; its arrows are listed below">{2}</svg>\n'
        "<figcaption><details><summary>Its arrows</summary><ul>{3}</ul></details></figcaption></figure>\n"
    ).format(width, height, Markup("").join(parts), told)
