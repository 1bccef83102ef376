"""Lists sorted by keys of every kind: one graph where the order is known while tracing."""

import enum
import operator
import re

import pytest

import minidynamo as torch
from frontend.differential import same


class Level(enum.IntEnum):
    HIGH = 2
    LOW = 1


ROWS = [("b", 1), ("a", 1), ("c", 0)]


def in_place(x, rows):
    rows.sort(key=lambda row: (row[1], row[0]))
    return x + rows[0][1], rows


WHOLE = {
    "parts of rows in a tuple": lambda x, rows: (x + 1, sorted(rows, key=lambda row: (row[1], row[0]))),
    "in place": in_place,
    "nested tuples": lambda x, rows: (x + 1, sorted(rows, key=lambda row: ((row[1],), (row[0], 1)))),
    "parts of rows in a list": lambda x, rows: (x + 1, sorted(rows, key=lambda row: [row[1], row[0]])),
    "falling and rising": lambda x, rows: (x + 1, sorted(rows, key=lambda row: (-row[1], row[0]))),
    "reversed": lambda x, rows: (x + 1, sorted(rows, key=lambda row: (row[1], row[0]), reverse=True)),
    "items of a dict": lambda x, rows: (x + 1, sorted(dict(rows).items(), key=lambda item: (item[1], item[0]))),
    "itemgetter": lambda x, rows: (x + 1, sorted(rows, key=operator.itemgetter(1, 0))),
    "members of an enumeration": lambda x, rows: (x + 1, sorted([Level.HIGH, Level.LOW])),
    "members and names": lambda x, rows: (x + 1, sorted(Level, key=lambda level: (level, level.name))),
    "flags": lambda x, rows: (x + 1, sorted([re.I, re.A])),
}


@pytest.mark.parametrize("name", WHOLE)
def test_order_is_known(name):
    same(WHOLE[name], lambda: (torch.ones(2), list(ROWS)), frames=1, breaks=[])


def test_items_that_do_not_compare():
    def f(x, rows):
        try:
            rows.sort(key=lambda row: (row[1], row[0]))
        except TypeError:
            return x - 1
        return x

    same(f, lambda: (torch.ones(2), [("b", 1), (2, 1)]), frames=1, breaks=[])


def test_order_of_tensors_in_tuples_is_not_known():
    def f(x, rows):
        return sorted(rows, key=lambda row: (row[1], x.sum())), x + 1

    same(f, lambda: (torch.ones(2), list(ROWS)), breaks=["GB0207"])


def test_a_list_that_contains_itself_is_no_key():
    def f(x):
        a = [1]
        a.append(a)
        return x + len(sorted([a], key=lambda value: value))

    same(f, lambda: (torch.ones(2),), breaks=["GB0207"])
