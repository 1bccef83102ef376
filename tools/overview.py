"""Draws docs/overview.svg: the layers, their rooms, and the way of a call through them; with --check only compares.

Layers and what they hold stand in the first table of docs/architecture.md, rooms in tests/layout/rooms.toml, the files
of a call in the list of architecture.md. The words for the steps are below; they fail to be drawn for another list.
"""

import itertools
import pathlib
import re
import sys
import tomllib
from xml.sax.saxutils import escape

ROOT = pathlib.Path(__file__).resolve().parents[1]
TARGET = ROOT / "docs/overview.svg"
WIDTH, GAP, PAD = 960, 14, 14
ROOM_HEIGHT, ROOM_GAP, LETTER = 30, 16, 7.3  # of a letter of a room's name, on average
STEPS = {
    "frontend/driver/compiled_function.cpp": "a compiled function is called: its arguments are bound",
    "frontend/driver/run_frame.cpp": "is there an entry whose guards hold? then go to 8",
    "frontend/driver/compile_frame.cpp": "there is none: trace, again where something was learned",
    "frontend/interpreter/interpreter.cpp": "bytecode runs over symbolic values; tensor operations become nodes",
    "frontend/driver/finish_trace.cpp": "the trace becomes graph, guards and plan",
    "ir/compile/pipeline.cpp": "passes over the graph",
    "backend/executable/llvm_backend.cpp": "loop nests, machine code",
    "frontend/plan/plan.cpp": "the plan: load inputs, run the kernel, rebuild values, replay effects",
}
STYLE = """
    .paper { fill: #ffffff } .layer { fill: #f4f5f7; stroke: #c9ced6 } .room { fill: #ffffff; stroke: #9aa3b0 }
    .used { fill: #e7effc; stroke: #2f66c4 } .name { fill: #1c222b; font-weight: 600 } .text { fill: #1c222b }
    .quiet { fill: #566070 } .holds { paint-order: stroke; stroke: #f4f5f7; stroke-width: 4px }
    .way { fill: none; stroke: #c2410c; stroke-width: 1.8 } .head { fill: #c2410c }
    .number { fill: #c2410c } .digit { fill: #ffffff; font-weight: 700 }
    text { font-family: system-ui, "Segoe UI", "DejaVu Sans", sans-serif; font-size: 13px } .small { font-size: 12px }
    @media (prefers-color-scheme: dark) {
      .paper { fill: #14181d } .layer { fill: #1c222a; stroke: #3b4452 } .room { fill: #14181d; stroke: #5d6878 }
      .used { fill: #1a2c4a; stroke: #79a8f2 } .name, .text { fill: #e6eaf0 } .quiet { fill: #a7b0be }
      .holds { stroke: #1c222a } .way { stroke: #fb923c } .head, .number { fill: #fb923c } .digit { fill: #14181d }
    }
"""


def read_layers():
    """{layer: what it holds}, of those that a call passes."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `(\w+)/` \| ([^|]+?) \|", text.partition("## Layers")[2].partition("\n## ")[0], re.MULTILINE
    )
    return {name: re.split(r"[.:;]", holds)[0].replace("`", "") for name, holds in rows}


def read_steps():
    """The files of a call, in order."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    story = text.partition("eight files")[2].partition("\n## ")[0]
    files = re.findall(r"^\d\. `([\w/.]+)`", story, re.MULTILINE)
    if files != list(STEPS):
        raise ValueError(f"tools/overview.py has words for other files than docs/architecture.md tells of: {files}")
    return files


class Drawing:
    """Boxes and where they lie. Layers are at the bottom, the way over them, rooms and texts on top."""

    def __init__(self):
        self.layers, self.ways, self.parts, self.rooms = [], [], [], {}
        self.steps = read_steps()
        self.used = {tuple(step.split("/")[:2]) for step in self.steps}

    def text(self, x, y, words, kind="text", anchor="start"):
        self.parts.append(f'<text class="{kind}" x="{x:g}" y="{y:g}" text-anchor="{anchor}">{escape(words)}</text>')

    def box(self, x, y, width, height, kind, title=""):
        shown = f"<title>{escape(title)}</title>" if title else ""
        below = self.layers if kind == "layer" else self.parts
        below.append(
            f'<rect class="{kind}" x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6">{shown}</rect>'
        )

    def layer(self, name, holds, rooms, x, y, width, taller=0):
        """Draws a layer with its rooms, the upper ones first; gives its height."""
        rows = place_rooms(rooms, width - 2 * PAD)
        lines = wrapped(holds, (width - 2 * PAD) / 6.3)
        head = 26 + 16 * len(lines)
        height = max(taller, head + len(rows) * (ROOM_HEIGHT + ROOM_GAP) + 12)
        self.box(x, y, width, height, "layer")
        self.text(x + PAD, y + 22, f"{name}/", "name")
        for number, line in enumerate(lines):
            self.text(x + PAD, y + 39 + 16 * number, line, "quiet small holds")
        for row, boxes in enumerate(rows):
            top = y + head + 16 + row * (ROOM_HEIGHT + ROOM_GAP)
            for left, wide, room in boxes:
                kind = "used" if (name, room) in self.used else "room"
                self.box(x + PAD + left, top, wide, ROOM_HEIGHT, kind, rooms[room])
                self.text(x + PAD + left + 10, top + 20, room)
                self.rooms[name, room] = (x + PAD + left, top, wide)
        return height

    def marks(self):
        """{step: (x, y)}: the numbers of a room stand at the right end of its box."""
        found = {}
        for room, steps in itertools.groupby(sorted(enumerate(self.steps, 1), key=room_of), key=room_of):
            steps = list(steps)
            x, y, width = self.rooms[room]
            for place, (number, _) in enumerate(steps):
                found[number] = (x + width - 14 - 20 * (len(steps) - 1 - place), y + ROOM_HEIGHT / 2)
        return found

    def way(self):
        marks = self.marks()
        order = [*range(1, len(self.steps) + 1)]
        for a, b in itertools.pairwise(order):
            (x, y), (u, v) = marks[a], marks[b]
            if y == v and abs(x - u) < 25:
                continue  # neighbours in one box
            half = ROOM_HEIGHT / 2
            if y == v:  # along a row: above it to the right, below it to the left
                up = -1 if u > x else 1
                bend = f"M{x:g} {y + up * half:g} C{x:g} {y + up * 34:g} {u:g} {y + up * 34:g} {u:g} {y + up * half:g}"
            else:
                down = 1 if v > y else -1
                start, end = y + down * half, v - down * half
                bend = f"M{x:g} {start:g} C{x:g} {start + down * 30:g} {u:g} {end - down * 30:g} {u:g} {end:g}"
            self.ways.append(f'<path class="way" marker-end="url(#head)" d="{bend}"/>')
        for number, (x, y) in marks.items():
            self.parts.append(f'<circle class="number" cx="{x:g}" cy="{y:g}" r="9"/>')
            self.text(x, y + 4.5, str(number), "digit small", "middle")


def room_of(step):
    return tuple(step[1].split("/")[:2])


def room_width(room):
    """Room for the name and the numbers of steps."""
    numbers = sum(f"/{room}/" in step for step in STEPS)
    return len(room) * LETTER + 20 + 20 * numbers


def place_rooms(rooms, width):
    """Rows of (left, width, room), the upper rooms first."""
    rows, left = [[]], 0
    for room in reversed(list(rooms)):
        wide = room_width(room)
        if rows[-1] and left + wide > width:
            rows.append([])
            left = 0
        rows[-1].append((left, wide, room))
        left += wide + 10
    return rows if rooms else []


def wrapped(words, letters):
    lines = [""]
    for word in words.split():
        if lines[-1] and len(lines[-1]) + len(word) + 1 > letters:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def drawing():
    layers = read_layers()
    rooms = tomllib.loads((ROOT / "tests/layout/rooms.toml").read_text(encoding="utf-8"))
    picture = Drawing()
    full, half = WIDTH - 2 * GAP, (WIDTH - 3 * GAP) * 0.6
    y = GAP
    y += picture.layer("python", layers["python"], {}, GAP, y, full) + GAP
    tall = picture.layer("frontend", layers["frontend"], rooms["frontend"], GAP, y, half)
    picture.layer("backend", layers["backend"], rooms["backend"], 2 * GAP + half, y, WIDTH - 3 * GAP - half, tall)
    y += tall + GAP
    y += picture.layer("ir", layers["ir"], rooms["ir"], GAP, y, full) + GAP
    y += picture.layer("registry", layers["registry"], {}, GAP, y, full) + GAP + 8
    picture.way()
    picture.text(
        GAP, y + 8, "The way of a call. A folder includes only from those below it, or beside it through ir.", "name"
    )
    for number, step in enumerate(picture.steps, 1):
        line = y + 12 + 22 * number
        picture.parts.append(f'<circle class="number" cx="{GAP + 9}" cy="{line - 4.5:g}" r="9"/>')
        picture.text(GAP + 9, line, str(number), "digit small", "middle")
        picture.text(GAP + 28, line, STEPS[step])
        picture.text(WIDTH - GAP, line, step, "quiet small", "end")
    height = y + 12 + 22 * len(picture.steps) + GAP
    head = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:g}" role="img" aria-labelledby="t d">',
        '  <title id="t">minidynamo: layers, rooms, and the way of a call</title>',
        f'  <desc id="d">{escape("; ".join(f"{n}. {s}: {w}" for n, (s, w) in enumerate(STEPS.items(), 1)))}</desc>',
        f"  <style>{STYLE}  </style>",
        '  <defs><marker id="head" viewBox="0 0 10 10" refX="8" refY="5" markerWidth="7" markerHeight="7" '
        'orient="auto"><path class="head" d="M0 0L10 5L0 10z"/></marker></defs>',
        f'  <rect class="paper" width="{WIDTH}" height="{height:g}"/>',
    ]
    return (
        "\n".join([*head, *(f"  {part}" for part in [*picture.layers, *picture.ways, *picture.parts]), "</svg>"]) + "\n"
    )


def main():
    made = drawing()
    if "--check" in sys.argv:
        return int(not TARGET.exists() or TARGET.read_text(encoding="utf-8") != made)
    TARGET.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
