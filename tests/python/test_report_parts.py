"""Parts of `report`: places in source, what follows a break, pictures and texts of graphs, numbers in words."""

import time

import pytest

from minidynamo._report import drawing, graph_text, resumed, words
from minidynamo._report.places import Sources


def test_columns_are_bytes(tmp_path):
    path = tmp_path / "ä.py"
    path.write_text("def f(x):\n    ß = g(x.item())\n", encoding="utf-8")
    frame = {"file": str(path), "line": 2, "function": "f", "end_line": 2, "column": 11, "end_column": 19}
    assert Sources().executed(frame) == ("ß = g(", "x.item()", ")")
    assert Sources().executed({**frame, "column": -1}) == ("", "ß = g(x.item())", "")
    assert Sources().function_at(str(path), 2)[:3] == (1, 2, "f")
    assert Sources(started=0).note(str(path)).startswith("The file has changed")


RESUMED = """\
def f(x, items):
    for k in items:
        x = x * k
        print(k)
        x = x + 1
    with ctx() as c:
        z = g(x,
              h(c))
    if z > 3:
        x = 1
    elif z > 2:
        x = 2
    return w + x
def one(x): return x.item() + 1
"""
REST = ["if z > 3:", "    x = 1", "elif z > 2:", "    x = 2", "return w + x"]


@pytest.mark.parametrize(
    ("at", "lines"),
    [
        (2, ["# goes on at the first line of:", *RESUMED.splitlines()[1:5], *RESUMED.splitlines()[5:8], *REST]),
        (4, ["# goes on in the middle of:", "___stack0", "x = x + 1", "# and the next rounds of: for k in items:",
             *RESUMED.splitlines()[5:8], *REST]),
        (8, ["# inside of: with ctx() as c:", "# goes on in the middle of:", "z = g(x,", "h(c))", *REST]),
        (9, ["# goes on at the first line of:", *REST]),
        (11, ["# goes on at the first line of:", "if z > 2:", "    x = 2", "return w + x"]),
        (13, ["# goes on in the middle of:", "return w + x"]),
        (14, ["# goes on in the middle of:", "return ___stack0 + 1"]),
        (99, []),
    ],
)  # fmt: skip
def test_what_follows_a_break_as_python(tmp_path, at, lines):
    path = tmp_path / "program.py"
    path.write_text(RESUMED)
    place = {"file": str(path), "function": "resumed"}
    broken = {4: (8, 16), 14: (19, 27)}.get(at, (-1, -1))
    frame = {**place, "line": at, "end_line": at, "column": broken[0], "end_column": broken[1]}
    resume = {**place, "line": 1, "at": at, "arguments": ["___stack0", "x"]}
    shown = resumed.python_of(Sources(), resume, frame if broken[0] > 0 else None).splitlines()
    first = ["def resumed(___stack0, x):", "# ___stack0: the value of what broke"] if lines else []
    assert [line.strip() for line in shown] == [*first, *[line.strip() for line in lines]]


def graph_of(length):
    nodes = [
        {"name": f"n{k}", "type": "f32[4]", "op": "add", "inputs": [f"n{k - 1}"] if k else ["x"], "file": "", "line": 0,
         "code": ""} for k in range(length)
    ]  # fmt: skip
    return {"name": "g", "direction": "", "inputs": [["x", "f32[4]"]], "nodes": nodes, "outputs": [f"n{length - 1}"],
            "kernels": []}  # fmt: skip


def test_pictures_of_graphs():
    drawn = drawing.picture(graph_of(3))
    assert [box["title"] for box in drawn.boxes][:3] == ["add  f32[4]"] * 3
    assert len(drawn.arrows) == 4 and drawn.left_out == 0
    boxes = {id(box): box for box in drawn.boxes}.values()
    tops = [box["y"] for box in boxes if box["kind"] == "op"]
    assert tops == sorted(set(tops))
    started = time.perf_counter()
    assert drawing.picture(graph_of(20_000)).left_out == 20_000 - 120
    assert time.perf_counter() - started < 5
    assert drawing.picture({**graph_of(1), "nodes": [], "inputs": [], "outputs": []}) is None
    fused = {**graph_of(4), "kernels": [{"name": "fused_add", "nodes": ["n0", "n1"]}, {"name": "k2", "nodes": ["n3"]}]}
    drawn = drawing.picture(fused, {"fused_add": "3 x, 1 ms"})  # n2 is a view
    assert [(box["kind"], box["title"], box["note"]) for box in drawn.boxes[:2]] == [
        ("kernel", "fused_add", "3 x, 1 ms"), ("kernel", "k2", "")
    ]  # fmt: skip
    assert len(drawn.arrows) == 3


def test_texts_of_graphs():
    text = (
        "TRACED GRAPH\n ===== Forward graph of __compiled_fn_1 =====\n f.py class GraphModule(torch.nn.Module):\n"
        '    def forward(self, L_x_: "f32[2, 3][3, 1]cpu"):\n        l_x_ = L_x_\n        \n'
        "         # File: /a b/f.py:7 in g, code: y = x + x # File: z:1 in q, code: w\n"
        '        y: "f32[2, 3][3, 1]cpu" = l_x_ + l_x_\n'
        '        z: "f32[3][1]cpu" = torch.sum(y, [0], False, None);  y = None\n'
        '        add: "f32[3][1]cpu" = torch.add(z, other = z)\n'
        '        sum: "f32[3][1]cpu" = add.add(z);  z = add = None\n'
        "        return (z, sum)\n"
    )
    graph = graph_text.GraphText(text)
    assert (graph.direction, graph.name, graph.outputs) == ("Forward", "__compiled_fn_1", ["z", "sum"])
    assert [(n["op"], n["inputs"]) for n in graph.nodes] == [
        ("add", ["L_x_"]), ("sum", ["y"]), ("add", ["z"]), ("add", ["add", "z"])
    ]  # fmt: skip
    assert graph_text.kernels("KERNELS\n ===== Backward graph of k =====\naten::mm: a b\n") == (
        "Backward", "k", [("aten::mm", ["a", "b"])]
    )  # fmt: skip


def test_numbers_in_words():
    assert [words.duration(t) for t in (None, 0, 2e-7, 1.5e-5, 0.25, 3.14159, 1234)] == [
        "-", "0", "< 1 µs", "15 µs", "250 ms", "3.14 s", "1234 s"
    ]  # fmt: skip
    assert (words.many(1, "break"), words.many(1200, "break")) == ("1 break", "1,200 breaks")
    assert [words.share(part) for part in (None, 0, 0.001, 0.5)] == ["-", "0 %", "< 1 %", "50 %"]
