"""What notebooks show of objects: escaped, bounded, and nothing that the text does not say."""

import html.parser
import re

import pytest

import minidynamo as torch
from minidynamo import _display, registry


class Reader(html.parser.HTMLParser):
    """The text of a fragment; AssertionError where tags do not match or anything could run or be fetched."""

    def __init__(self, fragment):
        super().__init__()
        self.text, self.open = "", []
        self.feed(fragment)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        assert tag not in ("script", "link", "img", "iframe", "style")
        for name, value in attributes:
            assert not name.startswith("on") and "url(" not in (value or "")
            # Colours of the page only: the same fragment is read on white and on black.
            assert not re.search(r"(?<!border-left:3px solid )\bcolor:|background", value or "")
        self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def shown(o):
    return Reader(o._repr_html_()).text


def test_tensors():
    text = shown(torch.tensor([[1.5, 2.0]], requires_grad=True))
    assert "1 × 2 · float32 · cpu · requires grad" in text and "tensor([[1.5000, 2.0000]], requires_grad=True)" in text
    assert "one number" in shown(torch.tensor(3))
    assert "0 · " in shown(torch.ones(0))
    assert "· meta" in shown(torch.ones(2, device="meta"))
    assert "Parameter" in shown(torch.nn.Parameter(torch.ones(2)))
    assert "complex64" in shown(torch.ones(2, dtype=torch.complex64))


def test_size_is_bounded():
    assert len(torch.rand(3000, 3000)._repr_html_()) < 5_000
    torch.set_printoptions(threshold=10**9)
    try:
        assert len(torch.rand(200, 200)._repr_html_()) < 30_000
    finally:
        torch.set_printoptions(profile="default")

    def long(x):
        for _ in range(3000):
            x = x + 1
        return x

    module = torch.fx.symbolic_trace(long)
    assert "more lines" in shown(module)
    assert len(module._repr_html_()) < 40_000


def test_tensors_of_other_classes_keep_their_text():
    class Sub(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise AssertionError("nobody asked")

    assert torch.ones(2).as_subclass(Sub)._repr_html_() is None
    assert torch.ones(2, 2).to_sparse()._repr_html_() is None


def test_text_is_unchanged_and_no_state_is_touched():
    t = torch.rand(3)
    state = torch.get_rng_state().tolist()
    before, version = repr(t), t._version
    t._repr_html_()
    assert (repr(t), t._version, torch.get_rng_state().tolist()) == (before, version, state)


def test_in_a_compiled_function_it_breaks_and_shows_the_values():
    def f(x):
        y = x + 1
        return y * 2, y._repr_html_()

    for run in (f, torch.compile(f, backend="eager")):
        assert "tensor([2., 2.])" in run(torch.ones(2))[1]


def hostile(x):
    y = x + 1
    print("<script>alert(1)</script>")
    return y


def test_explanations():
    output = torch._dynamo.explain(hostile)(torch.ones(2))
    text = shown(output)
    for part in (
        "1 graph with 1 operation",
        "1 graph break",
        "GB0059",
        "in hostile",
        'print("<script>alert(1)</script>")',
        "Graph 1",
        "x_ + 1",
    ):
        assert part in text
    assert "<script>" not in output._repr_html_()
    assert str(output).startswith("Graph Count:")


def test_explanations_are_bounded():
    unrolled = {}
    body = "\n".join(f"    x = x + {k}\n    print({k})" for k in range(60))
    exec(compile(f"def many(x):\n{body}\n    return x", "many.py", "exec"), unrolled)
    output = torch._dynamo.explain(unrolled["many"])(torch.ones(2))
    assert "torch_dynamo_resume" not in shown(output) and "in many" in shown(output)
    assert "and 20 more" in shown(output) and len(output._repr_html_()) < 100_000


@pytest.mark.parametrize("code", sorted({row.code for row in registry.all_breaks()})[::20])
def test_registry_entries(code):
    for row in registry.lookup(code):
        text = shown(row)
        assert row.type in text and row.explanation in text and all(hint in text for hint in row.hints)


def test_without_jinja2_there_is_the_text(monkeypatch):
    monkeypatch.setattr(_display, "_environment", lambda: None)
    assert torch.ones(2)._repr_html_() is None
    assert registry.lookup(170)[0]._repr_html_() is None
