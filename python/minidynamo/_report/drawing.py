"""Pictures of graphs: boxes in rows, one below the other, so that every arrow points down. Linear in the graph's size.

A box is a kernel with the ops that became it, or an op by itself; views are not drawn, what they show is.
"""

_WIDTH, _GAP, _ROW_GAP, _LINE, _PAD = 240, 18, 34, 15, 10  # pixels
_PER_ROW = 4
_MOST_BOXES = 120
_MOST_OPS = 7  # that a box names
_MOST_INPUTS = 8  # that are boxes of their own
_MOST_OUTPUTS = 4  # that a box at the end is drawn for; of more, the boxes they come from are marked
_LONGEST = 30  # characters of a line


class Picture:
    """What the template draws: `boxes`, `arrows`, `width`, `height`; `left_out`: ops that had no room."""

    def __init__(self, boxes, arrows, width, height, left_out):
        self.boxes, self.arrows, self.width, self.height, self.left_out = boxes, arrows, width, height, left_out


def picture(graph, costs=()):
    """The picture of a graph of the model; `costs`: {name of a kernel: what it cost, as text}. None: nothing in it."""
    boxes, arrows, left_out = _boxes(graph, dict(costs))
    if not boxes:
        return None
    rows = _rows(boxes, arrows)
    width, y = 0, _PAD
    for row in rows:
        height = max(box["height"] for box in row)
        x = _PAD
        for box in row:
            box["x"], box["y"], x = x, y, x + box["width"] + _GAP
        width, y = max(width, x - _GAP + _PAD), y + height + _ROW_GAP
    for row in rows:  # each in the middle
        used = row[-1]["x"] + row[-1]["width"] + _PAD
        for box in row:
            box["x"] += (width - used) // 2
    lines = [_arrow(boxes[a], boxes[b]) for a, b in arrows]
    return Picture(list(boxes.values()), lines, width, y - _ROW_GAP + _PAD, left_out)


def _short(text):
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _box(kind, title, lines=(), note=""):
    shown = [_short(line) for line in lines]
    width = _WIDTH if kind != "input" else max(70, min(_WIDTH, 9 * max(len(_short(t)) for t in (title, *shown)) + 24))
    return {"kind": kind, "title": _short(title), "lines": shown, "note": note, "width": width, "lines_of": (),
            "height": 2 * _PAD + _LINE * (1 + len(shown) + bool(note)) - 2}  # fmt: skip


def _op_line(node):
    return f"{node['op']}  {node['type'].partition('[')[0]}{_sizes(node['type'])}"


def _sizes(type_):
    """ "[8, 32]" of "f32[8, 32][32, 1]cpu"."""
    start = type_.find("[")
    return type_[start : type_.find("]", start) + 1] if start >= 0 else ""


def _boxes(graph, costs):
    """({key: box}, {(key, key): None}, how many ops are left out)"""
    nodes = {node["name"]: node for node in graph["nodes"]}
    owner, boxes, arrows = {}, {}, {}
    groups = _groups(graph, nodes)
    left_out = sum(len(names) for _, names in groups[_MOST_BOXES:])
    for number, (title, names) in enumerate(groups[:_MOST_BOXES]):
        lines = [_op_line(nodes[name]) for name in names[:_MOST_OPS]] if title else []
        if len(names) > _MOST_OPS:
            lines.append(f"and {len(names) - _MOST_OPS} more")
        box = _box("kernel" if title else "op", title or _op_line(nodes[names[0]]), lines, costs.get(title, ""))
        box["lines_of"] = sorted({(nodes[n]["file"], nodes[n]["line"], nodes[n]["code"]) for n in names})
        boxes[number] = box
        owner.update(dict.fromkeys(names, number))
    inputs = [name for name, _ in graph["inputs"]]
    many = len(inputs) > _MOST_INPUTS
    types = dict(graph["inputs"])
    for name in inputs:
        owner[name] = "inputs" if many else name
    if inputs and not many:
        boxes.update({name: _box("input", name, [types[name].partition("]")[0] + "]" * ("[" in types[name])])
                      for name in inputs})  # fmt: skip
    sources = _through_views(nodes, owner)
    for name, node in nodes.items():
        if owner.get(name) in boxes:
            arrows.update({(s, owner[name]): None for each in node["inputs"] for s in sources(each)})
    if many:
        _name_inputs(boxes, groups, nodes, types)
    if len(graph["outputs"]) > _MOST_OUTPUTS:
        for key in {s for each in graph["outputs"] for s in sources(each) if s in boxes}:
            boxes[key]["kind"] += " is-output"
    elif graph["outputs"]:
        boxes["outputs"] = _box("output", "outputs" if len(graph["outputs"]) > 1 else "output")
        arrows.update({(s, "outputs"): None for each in graph["outputs"] for s in sources(each)})
    return boxes, [(a, b) for a, b in arrows if a in boxes and b in boxes and a != b], left_out


def _tail(name):
    """The end of a long name tells more than its beginning."""
    return name if len(name) <= 11 else "…" + name[-10:]


def _name_inputs(boxes, groups, nodes, inputs):
    """Where there are too many inputs for boxes and arrows of their own, the boxes that read them name them."""
    below, owned = {}, {name for _, names in groups for name in names}  # below: inputs that a view shows
    for name, node in nodes.items():
        if name not in owned:
            below[name] = [i for each in node["inputs"] for i in ([each] if each in inputs else below.get(each, ()))]
    for number, (_, names) in enumerate(groups[:_MOST_BOXES]):
        read = []
        for name in names:
            for each in nodes[name]["inputs"]:
                read += [each] if each in inputs else below.get(each, ())
        if read := list(dict.fromkeys(read)):
            shown = ", ".join(_tail(each.strip("_")) for each in read[:2])
            boxes[number]["lines"].append(_short(f"reads {shown}" + (f" and {len(read) - 2} more" if read[2:] else "")))
            boxes[number]["height"] += _LINE


def _groups(graph, nodes):
    """[(kernel or "", [names of nodes])], in the order of the graph."""
    if not graph["kernels"]:
        return [("", [name]) for name in nodes]
    groups = [(each["name"], [n for n in each["nodes"] if n in nodes]) for each in graph["kernels"]]
    return [(name, found) for name, found in groups if found]


def _through_views(nodes, owner):
    """A function: the boxes whose values a node shows, itself or through views without a box."""
    known = {}
    for name, node in nodes.items():  # in the order of the graph: what a node reads comes before it
        if name in owner:
            known[name] = (owner[name],)
        else:
            known[name] = tuple(
                dict.fromkeys(
                    s for each in node["inputs"] for s in known.get(each, (owner.get(each),)) if s is not None
                )
            )[:_MOST_INPUTS]
    return lambda name: known.get(name, (owner[name],) if name in owner else ())


def _rows(boxes, arrows):
    """The boxes by how far down they have to be; long rows are broken into several."""
    before, after, depth = {key: 0 for key in boxes}, {key: [] for key in boxes}, dict.fromkeys(boxes, 0)
    for a, b in arrows:
        before[b] += 1
        after[a].append(b)
    ready = [key for key in boxes if not before[key]]
    while ready:
        key = ready.pop()
        for each in after[key]:
            depth[each] = max(depth[each], depth[key] + 1)
            before[each] -= 1
            if not before[each]:
                ready.append(each)
    first = {key for key in boxes} - {b for _, b in arrows}
    for key in first:  # inputs, and what reads nothing, stand right above what reads them
        if after[key]:
            depth[key] = min(depth[each] for each in after[key]) - 1
    by_depth = {}
    for key, box in boxes.items():
        by_depth.setdefault(depth[key], []).append(box)
    rows = []
    for level in sorted(by_depth):
        row = by_depth[level]
        rows += [row[k : k + _PER_ROW] for k in range(0, len(row), _PER_ROW)]
    return rows


def _arrow(a, b):
    x0, y0 = a["x"] + a["width"] // 2, a["y"] + a["height"]
    x1, y1 = b["x"] + b["width"] // 2, b["y"]
    bend = max((y1 - y0) // 2, 12)
    return f"M{x0} {y0}C{x0} {y0 + bend} {x1} {y1 - bend} {x1} {y1 - 1}"
