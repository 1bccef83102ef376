"""Programs of one expression or statement, compared plain and compiled; exceptions they raise are results."""

import sys
import textwrap

import pytest

import minidynamo as torch
from frontend.differential import same


def _function(body, names):
    names = dict(names)
    exec("def program(x):\n" + textwrap.indent(body, "    "), names)
    return names["program"]


def lines(text):
    """The programs of a table: one on each line."""
    return [line.strip() for line in text.strip().splitlines()]


# Programs that break by default, as the registry lists what they do; config.trace_more traces them whole.
LISTED = {
    "sorted(l,lambda v:v)": "GB0193",
    "l.sort(key=3)": "GB0147",
    "list(map(1,[2]))": "GB0147",
    "next([])": "GB0160",
    "l[0:1]=3": "GB0143",
    "d.__iter__()": "GB0092",
    "d.__copy__()": "GB0156",
    "En(9)": "GB0054",
    **({"Fl(99)": "GB0054"} if sys.version_info >= (3, 12) else {}),  # a member of its own before
    "a,b=l": "GB0077",
    "a,b,c,d,e=l": "GB0077",
}


def check(function, program=None):
    """One graph, nothing broken, the same results in two calls in a row; a listed program breaks with its code, too."""
    args = {"make_args": lambda: (torch.tensor([1.0, 2.0, 3.0]),), "backends": ("eager",)}
    if program in LISTED:
        same(function, breaks=[LISTED[program]], **args)
        with torch._dynamo.config.patch(trace_more=True):
            same(function, frames=1, breaks=(), **args)
    else:
        same(function, frames=1, breaks=(), **args)


def check_expression(names, setup, expression, shown=None):
    """`expression` after `setup`; `shown` is looked at afterwards."""
    check(
        _function(
            f"{setup}\ntry:\n    r = {expression}\nexcept Exception as e:\n    r = type(e).__name__, str(e)\n"
            f"return x + 1, r, {shown}",
            names,
        ),
        expression,
    )


def check_statement(names, setup, statement, shown):
    """A statement (several are parted by semicolons) and what it leaves in `shown`."""
    parts = textwrap.indent("\n".join(statement.split("; ")), "    ")
    check(
        _function(
            f"{setup}\nerror = None\ntry:\n{parts}\nexcept Exception as e:\n    error = type(e).__name__, str(e)\n"
            f"return x + 1, {shown}, error",
            names,
        ),
        statement,
    )


def each_line_of(tables, check, names):
    """A test of every line of the tables, {kind: (setup, what is shown, lines)}, over the names of a module."""
    rows = [(kind, program) for kind, (_, _, table) in tables.items() for program in lines(table)]

    @pytest.mark.parametrize(("kind", "program"), rows)
    def test(kind, program):
        setup, shown, _ = tables[kind]
        check(names, setup, program, shown)

    return test
