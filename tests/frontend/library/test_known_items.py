"""Calls that are made for real while tracing are given the items of containers that came from outside."""

import collections

import pytest

import minidynamo as torch

SUFFIXES = [".py", ".so"]
NAMES = ["a", "b"]
TABLE = {97: "zz"}
FIELDS = [("x", 1), ("y", 2)]


def ends(x, text):
    return x + text.endswith(tuple(SUFFIXES))


def starts(x, text):
    return x + text.startswith(tuple(name for name in NAMES))


def joined(x, text):
    return x + len(text.join(NAMES))


def translated(x, text):
    return x + len(text.translate(TABLE))


def counted(x, text):
    return x + (1, 2).count(FIELDS[0][1])


def named(x, text):
    return x + collections.namedtuple("Pair", [name for name, _ in FIELDS])._fields.index("y")


CASES = [ends, starts, joined, translated, counted]


@pytest.mark.parametrize("program", CASES, ids=[case.__name__ for case in CASES])
def test_known_items(program):
    plain = program(torch.ones(2), "abc.py")
    compiled = torch.compile(program, backend="eager", fullgraph=True)
    assert compiled(torch.ones(2), "abc.py").tolist() == plain.tolist()


def test_items_are_guarded():
    names = ["a", "b"]
    compiled = torch.compile(lambda x: x + len(",".join(names)), backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).tolist() == [4.0]
    names[1] = "long"
    assert compiled(torch.ones(1)).tolist() == [7.0]
    names.append("c")
    assert compiled(torch.ones(1)).tolist() == [9.0]


def test_entries_are_guarded():
    table = {97: "x"}
    compiled = torch.compile(lambda x: x + len("aab".translate(table)), backend="eager", fullgraph=True)
    assert compiled(torch.ones(1)).tolist() == [4.0]
    table[97] = "xy"
    assert compiled(torch.ones(1)).tolist() == [6.0]
    table[98] = "uvw"
    assert compiled(torch.ones(1)).tolist() == [8.0]


def test_other_items_are_left_alone():
    items = ["a", torch.ones(1)]
    with pytest.raises(TypeError):
        torch.compile(lambda x: (",".join(items), x), backend="eager")(torch.ones(1))


def test_a_named_tuple_of_known_names():
    assert torch.compile(named, backend="eager")(torch.ones(1), "").tolist() == [2.0]
