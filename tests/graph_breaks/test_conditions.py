"""Codes by their conditions: a plain program, one two calls deep, one of another kind, a neighbour that is traced."""

import importlib

import pytest

import minidynamo as torch
from graph_breaks.conditions import check, counted_codes, one

MODULES = [
    "conditions_from_0001",
    "conditions_from_0014",
    "conditions_from_0033",
    "conditions_from_0054",
    "conditions_from_0066",
    "conditions_from_0078",
    "conditions_from_0098",
    "conditions_from_0110",
    "conditions_from_daily_work",
    "conditions_from_odd_places",
    "conditions_from_called_twice",
    "conditions_met_two_deep",
    "conditions_of_contents_and_c_methods",
    "conditions_of_drawn_numbers",
    "conditions_of_edited_code",
    "conditions_of_further_kinds",
    "conditions_of_managers",
    "conditions_of_rare_codes",
    "conditions_other_ways",
]
CASES = [case for name in MODULES for case in importlib.import_module(f"graph_breaks.{name}").CASES]


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.code or 'traced'}-{c.program.__name__}")
def test_condition(case):
    check(case)


def test_a_limit_is_counted_where_nothing_is_raised():
    def f(x, k):
        return x + 1 if k == "a" else x + 2

    with torch._dynamo.config.patch(recompile_limit=2):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        g = torch.compile(f, backend="eager")
        assert [g(one(), k).tolist() for k in "abcd"] == [[2, 2], [3, 3], [3, 3], [3, 3]]
        assert counted_codes() == {"GB0039"}
