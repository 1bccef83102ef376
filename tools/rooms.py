"""Draws the rooms of each layer, and who includes whom, into docs/architecture.md; with --check only compares.

The rooms and their order stand in tests/layout/rooms.toml, the arrows are counted from the #include lines.
"""

import collections
import pathlib
import re
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "architecture.md"
BEGIN, END = "<!-- rooms: written by tools/rooms.py -->", "<!-- end of rooms -->"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
ENDINGS = {".h", ".cpp", ".inc", ".c"}


def read_rooms():
    """{layer: {room: what it holds}}, each from the ground up."""
    return tomllib.loads((ROOT / "tests/layout/rooms.toml").read_text(encoding="utf-8"))


def files_of(layer):
    return sorted(p for p in (ROOT / layer).rglob("*") if p.suffix in ENDINGS)


def arrows(layer):
    """{(room, room it includes from): [(file, included file), ...]}"""
    found = collections.defaultdict(list)
    for path in files_of(layer):
        name = path.relative_to(ROOT).as_posix()
        room = name.split("/")[1]
        for included in INCLUDE.findall(path.read_text(encoding="utf-8")):
            parts = included.split("/")
            if parts[0] == layer and len(parts) > 2 and parts[1] != room:
                found[room, parts[1]].append((name, included))
    return found


def direct(pairs):
    """The arrows that no longer way makes: a -> c goes where a -> b -> c is there."""
    below = collections.defaultdict(set)
    for a, b in pairs:
        below[a].add(b)

    def reaches(a, c, seen):
        return any(b == c or (b not in seen and reaches(b, c, seen | {b})) for b in below[a])

    return [(a, c) for a, c in pairs if not any(b != c and reaches(b, c, {b}) for b in below[a])]


def section(layer, rooms):
    found = arrows(layer)
    count = collections.Counter(p.relative_to(ROOT).parts[1] for p in files_of(layer))
    lines = [f"### `{layer}/`", "", "```mermaid", "graph BT"]
    lines += [f"  {layer}_{a}[{a}] --> {layer}_{b}[{b}]" for a, b in sorted(direct(sorted(found)))]
    lines += ["```", "", "| room | holds | files | includes from |", "|---|---|---|---|"]
    order = list(rooms)
    for room in order:
        targets = sorted({b for a, b in found if a == room}, key=order.index)
        uses = ", ".join(f"{b} {len(found[room, b])}" for b in targets)
        lines.append(f"| `{layer}/{room}/` | {rooms[room]} | {count[room]} | {uses or '-'} |")
    return lines


def drawing():
    lines = [BEGIN, ""]
    for layer, rooms in read_rooms().items():
        lines += [*section(layer, rooms), ""]
    return "\n".join([*lines, END])


def page_with_drawing():
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    after = rest.partition(END)[2]
    return text, before + drawing() + after


def main():
    old, new = page_with_drawing()
    if "--check" in sys.argv:
        return int(old != new)
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
