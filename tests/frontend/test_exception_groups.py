"""`except*`, and exception groups made and taken apart in compiled code."""

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return torch.ones(2)


def divided(values, *, fail):
    y = values + 1
    log = []
    try:
        y = y * 2
        if fail == "one":
            raise ValueError("plain")
        if fail:
            raise ExceptionGroup("group", [ValueError(1), TypeError(2), *([KeyError(3)] if fail == "rest" else [])])
    except* ValueError as group:
        log.append((type(group).__name__, [str(e) for e in group.exceptions]))
    except* TypeError as group:
        log.append(group.message)
    finally:
        log.append("end")
    return y, log


@pytest.mark.parametrize("fail", ["", "one", "all", "rest"])
def test_except_star(fail):
    same(lambda values: divided(values, fail=fail), lambda: (x(),))


def test_except_star_where_nothing_is_raised_is_one_graph():
    same(lambda values: divided(values, fail=""), lambda: (x(),), frames=1, ops=2, breaks=())


def test_a_handler_that_raises():
    def f(values):
        try:
            raise ExceptionGroup("a", [ValueError(1), TypeError(2)])
        except* ValueError:
            raise KeyError("from the handler")  # noqa: B904
        return values

    same(f, lambda: (x(),))


def test_parts_of_a_group():
    def f(values):
        group = ExceptionGroup("g", [ValueError(1), ExceptionGroup("h", [TypeError(2)])])
        match, rest = group.split(TypeError)
        return values + len(group.exceptions), match.exceptions[0].message, repr(rest), repr(group.subgroup(KeyError))

    same(f, lambda: (x(),))


def test_a_group_that_cannot_be_made():
    def f(values):
        try:
            ExceptionGroup("empty", [])
        except ValueError as error:
            return values + 1, str(error)

    same(f, lambda: (x(),))
