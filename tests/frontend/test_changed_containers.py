"""Lists and deques from outside that compiled code changes: as much is written back as the program changes."""

import collections
import logging

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo import _logging


def ones():
    return torch.ones(2)


LIST_CHANGES = {
    "item": lambda items, y: items.__setitem__(1, y),
    "item from the end": lambda items, y: items.__setitem__(-1, y),
    "slice": lambda items, y: items.__setitem__(slice(1, 3), [y, 5, y]),
    "slice taken out": lambda items, y: items.__delitem__(slice(1, 3)),
    "slice put in": lambda items, y: items.__setitem__(slice(2, 2), [y]),
    "steps": lambda items, y: items.__setitem__(slice(0, 4, 2), [y, 7]),
    "del": lambda items, y: items.__delitem__(0),
    "append": lambda items, y: items.append(y),
    "insert": lambda items, y: items.insert(1, y),
    "insert far away": lambda items, y: items.insert(100, y),
    "pop": lambda items, y: items.append(items.pop()),
    "pop first": lambda items, y: items.append(items.pop(0)),
    "remove": lambda items, y: items.remove(3),
    "clear": lambda items, y: items.clear(),
    "reverse": lambda items, y: items.reverse(),
    "extend": lambda items, y: items.extend([y, 9]),
    "sort": lambda items, y: items.sort(reverse=True),
    "repeat": lambda items, y: items.__imul__(2),
}
DEQUE_CHANGES = {
    "append": lambda items, y: items.append(y),
    "appendleft": lambda items, y: items.appendleft(y),
    "pop": lambda items, y: items.appendleft(items.pop()),
    "popleft": lambda items, y: items.append(items.popleft()),
    "extend": lambda items, y: items.extend([y, 8]),
    "extendleft": lambda items, y: items.extendleft([y, 8]),
    "extend by itself": lambda items, y: items.extend(items),
    "item": lambda items, y: items.__setitem__(2, y),
    "del": lambda items, y: items.__delitem__(-2),
    "clear": lambda items, y: items.clear(),
    "reverse": lambda items, y: items.reverse(),
    "rotate": lambda items, y: items.rotate(-2),
}


def changing(*changes):
    def f(items, x):
        y = x * 2
        for change in changes:
            change(items, y)
        items.append(len(items))
        return y + 1

    return f


# After these only numbers are left, so that they can be sorted; 3 is still there and no tensor before it.
SORTABLE = ("pop", "pop first", "remove", "reverse", "clear", "slice taken out", "del")
HAVE_3 = ("append", "insert far away", "extend", "reverse", "pop", "sort")
NEED_ITEMS = {"item", "item from the end", "del", "pop", "pop first", "popleft", "steps"}
LIST_PAIRS = [
    (first, second)
    for first in LIST_CHANGES
    for second in LIST_CHANGES
    if (second != "sort" or first in SORTABLE)
    and (second != "remove" or first in HAVE_3)
    and (first != "clear" or second not in NEED_ITEMS)
]
DEQUE_PAIRS = [
    (first, second)
    for first in DEQUE_CHANGES
    for second in DEQUE_CHANGES
    if first != "clear" or second not in NEED_ITEMS
]


@pytest.mark.parametrize("first, second", LIST_PAIRS)
def test_changes_of_a_list_in_a_row(first, second):
    f = changing(LIST_CHANGES[first], LIST_CHANGES[second])
    same(f, lambda: ([4, 3, 2, 1, 0], ones()), frames=1, breaks=[])


@pytest.mark.parametrize("first, second", DEQUE_PAIRS)
def test_changes_of_a_deque_in_a_row(first, second):
    f = changing(DEQUE_CHANGES[first], DEQUE_CHANGES[second])
    same(f, lambda: (collections.deque([4, 3, 2, 1, 0]), ones()), frames=1, breaks=[])


def items_changed(items, y):
    items[3] = y
    items.pop()
    items.insert(0, y)
    del items[2]
    items.append(1)


def ends_changed(items, y):
    items.append(y)
    items.popleft()
    items[2] = y


@pytest.mark.parametrize("change, kind", [(items_changed, list), (ends_changed, collections.deque)])
def test_what_is_written_back_does_not_grow_with_the_container(change, kind):
    def f(items, x):
        change(items, x * 2)
        return x + 1

    def steps(n):
        records = []
        handler = logging.Handler()
        handler.emit = lambda record: records.append(record.getMessage())
        torch._dynamo.reset()
        _logging.set_logs(bytecode=True)
        logging.getLogger("minidynamo").addHandler(handler)
        try:
            torch.compile(f)(kind(range(n)), ones())
        finally:
            logging.getLogger("minidynamo").removeHandler(handler)
            _logging.set_logs()
        (text,) = [text for text in records if text.startswith("MODIFIED BYTECODE f")]
        return text.split("\n", 1)[1]

    few, many = steps(10), steps(1000)
    assert len(few.splitlines()) == len(many.splitlines())
    assert max(map(len, many.splitlines())) < 100
