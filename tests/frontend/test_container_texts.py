"""repr(), str(), ascii() and formatting of lists, tuples and dicts that hold objects."""

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return (torch.tensor([1.0, 2.0, 3.0]),)


class Named:
    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return f"<{self.name}>"


class Holder:
    def __init__(self):
        self.items = [self, 1]

    def __repr__(self):
        return f"Holder({self.items!r})"


class Counted:
    def __init__(self):
        self.asked = 0

    def __repr__(self):
        self.asked += 1
        return f"asked {self.asked}"


class Odd:
    def __repr__(self):
        return 3


NAMES = [Named("a"), Named("b")]


def texts(v):
    return v, repr(NAMES), str((NAMES[0],)), f"{ {'k': NAMES[1]} }", f"{NAMES!r} {NAMES[0]}", f"{[Named(chr(228))]!a}"


def nested(v):
    return v, repr([[Named("c")], {"k": (Named("d"), None), 2: []}, (), ([],)])


def classes_and_functions(v):
    return v, repr([int, Named, {"k": len}]), repr([ValueError("a")]), repr([list[int], range(3), ...])


def holds_itself(v):
    items = [1]
    items.append(items)
    table = {"items": items}
    table["table"] = table
    return v, repr(items), repr(table), repr(Holder())


def asked_in_order(v):
    counted = Counted()
    return v, repr([counted, counted]), str({1: counted}), counted.asked


def wrong_text(v):
    try:
        repr([Odd()])
    except TypeError as error:
        return v, str(error)


@pytest.mark.parametrize(
    "function", [texts, nested, classes_and_functions, holds_itself, asked_in_order], ids=lambda f: f.__name__
)
def test_traced_whole(function):
    same(function, x, breaks=[])


def test_wrong_text():
    same(wrong_text, x)


def test_what_changes_is_seen():
    items = [Named("a")]
    f = torch.compile(lambda v: (v, repr(items)), fullgraph=True, backend="eager")
    seen = [f(*x())[1]]
    items[0].name = "b"
    seen.append(f(*x())[1])
    items.append(None)
    seen.append(f(*x())[1])
    assert seen == ["[<a>]", "[<b>]", "[<b>, None]"]


def test_a_tensor_inside_breaks():
    same(lambda v: (v + 1, len(repr([v])) > 5), x)
