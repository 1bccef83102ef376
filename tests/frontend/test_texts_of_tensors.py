"""Texts of tensors in compiled code: written after the graph, as the tensors were where the program wrote them."""

import pytest

import minidynamo as torch
from graph_breaks.condition_rows import check
from minidynamo._dynamo.testing import CompileCounter


class Box:
    pass


def written_in_between(x):
    before = f"{x}"
    x.add_(1)
    y = f"{x}"
    x.mul_(0)
    return before, y


def kept_in_an_attribute(x):
    box = Box()
    box.note = "sum {:.1f}".format(x.sum())  # noqa: UP032
    return box.note, [f"{i}: {x.mean()}" for i in range(3)]


def joined(x):
    return ", ".join([f"{x.sum()}", "b", "{n:>6}".format(n=x.sum())])  # noqa: UP032


def refused(x):
    try:
        return f"{x.sum():d}"
    except ValueError as error:
        return str(error)


def refused_for_many(x):
    try:
        return f"{x:.2f}"
    except TypeError as error:
        return str(error)


WHOLE = {
    "f-string": lambda x: (x + 1, f"{x} {x.sum():.2f} {{}}"),
    "format": lambda x: "{0.shape} {0} {k:.1e}".format(x, k=x.sum()),  # noqa: UP032
    "format_map": lambda x: "{a}".format_map({"a": x.sum()}),
    "builtin": lambda x: format(x.sum(), "8.3f"),
    "in itself": lambda x: f"{f'{x.sum():.1f}':>8}|{str(f'{x.sum()}')}",
    "of numbers": lambda x: (f"{x.long().sum():03d}", f"{(x > 0).all()}", f"{x.sum() * 1j}"),
    "in lists": lambda x: f"{[x, 1, (x.sum(), 'a')]}",
    "its type": lambda x: (isinstance(f"{x}", str), 1 if f"{x}" else 2),
    "written in between": written_in_between,
    "kept in an attribute": kept_in_an_attribute,
    "joined": joined,
    "refused": refused,
    "refused for many": refused_for_many,
}


@pytest.mark.parametrize("name", WHOLE)
def test_texts_do_not_break(name):
    check(None, WHOLE[name])


def test_a_number_that_takes_part_in_autograd():
    check(None, lambda x: (x * 2, f"{(x * 3).sum():.1f}"), lambda: (torch.ones(2, requires_grad=True),))


@pytest.mark.parametrize(
    ("code", "looks"),
    [
        ("GB0156", lambda x: f"{x.sum()}".upper()),
        ("GB0156", lambda x: len(f"{x}")),
        ("GB0059", lambda x: f"{x}" + "a"),
        ("GB0059", lambda x: int(f"{x.sum():.0f}")),
        ("GB0059", lambda x: str(x)),
        ("GB0059", lambda x: "%s" % x.sum()),  # noqa: UP031
        ("GB0059", lambda x: "%d %s" % (3, x.sum())),  # noqa: UP031
        ("GB0059", lambda x: f"{x!r}"),
    ],
)
def test_who_looks_at_a_text_breaks(code, looks):
    check(code, looks)


def test_a_text_lives_across_a_break():
    counter = CompileCounter()

    def program(x):
        text = f"{x.sum()}"
        x = x + 1
        torch._dynamo.graph_break()
        return text, x * 2

    text, x = torch.compile(program, backend=counter)(torch.ones(2))
    assert (text, x.tolist(), counter.frame_count) == ("2.0", [4.0, 4.0], 2)
