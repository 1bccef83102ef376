"""Attributes of an OrderedDict, as `state_dict()` has them: read, stored, replayed."""

import collections

import pytest

import minidynamo as torch
from frontend.differential import same

MODEL = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3))


def made(x):
    table = collections.OrderedDict(a=x)
    table.note = {"v": x + 1}
    table.note["w"] = 3
    return table, table.note, table.note["v"]


def of_module(x):
    state = MODEL.state_dict()
    return x + len(state), list(state), state._metadata


def missing(x):
    table = collections.OrderedDict(a=x)
    try:
        return table.note
    except AttributeError as e:
        return x + 1, str(e)


@pytest.mark.parametrize("program", [made, of_module, missing])
def test_in_one_graph(program):
    same(program, lambda: (torch.ones(3),), frames=1, breaks=(), backends=("eager",))


def test_from_outside():
    def count(x, table):
        table.count = getattr(table, "count", 100) + 1
        return x + table.count

    results = []
    for function in (count, torch.compile(count, backend="eager", fullgraph=True)):
        table, shown = collections.OrderedDict(a=1), []
        for change in (None, 5, "delete", None):
            if change == "delete":
                del table.count
            elif change:
                table.count = change
            shown.append((function(torch.zeros(1), table).item(), table.count))
        results.append(shown)
    assert results[0] == results[1] == [(101, 101), (6, 6), (101, 101), (102, 102)]
