"""`except*`, and exception groups made and taken apart in compiled code."""

import sys

import pytest

import minidynamo as torch
from frontend.differential import breaks_with, same


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


@pytest.mark.parametrize("fail", ["one", "all"])
def test_except_star_breaks_by_default(fail):
    same(lambda values: divided(values, fail=fail), lambda: (x(),), breaks=["GB0082"])


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


# --- traced, with config.trace_more


class Named(ExceptionGroup):
    def __init__(self, message, exceptions):
        super().__init__(message, exceptions)
        self.tag = message + "!"

    def derive(self, exceptions):
        return Named(self.message + "'", exceptions)


class Odd(ExceptionGroup):
    def derive(self, exceptions):
        return exceptions


def described(error, depth=3):
    """An exception as plain values: what the program can see of it but its traceback, of which only whether it is."""
    if error is None or depth == 0:
        return error is None
    parts = [described(e, depth) for e in error.exceptions] if isinstance(error, BaseExceptionGroup) else []
    return (
        type(error).__name__,
        str(error),
        error.__suppress_context__,
        error.__traceback__ is None,
        list(getattr(error, "__notes__", ())),
        getattr(error, "tag", None),
        described(error.__cause__, depth - 1),
        described(error.__context__, depth - 1),
        parts,
    )


def nested():
    return ExceptionGroup("top", [ValueError(1), ExceptionGroup("in", [TypeError(2), KeyError("k")]), OSError(3)])


def handled(values, raised, clauses):
    """Raises `raised()`; each of three clauses does what `clauses` tells it. What is left is caught outside."""
    log = []
    try:
        try:
            values = values * 2
            raise raised()
        except* ValueError as group:
            log.append(("value", described(group)))
            clauses[0](group)
        except* (TypeError, LookupError) as group:
            log.append(("type", described(group), described(sys.exception())))
            clauses[1](group)
        except* ArithmeticError as group:
            log.append(("arithmetic", described(group)))
            clauses[2](group)
        else:
            log.append("else")
        finally:
            values = values + 1
    except BaseException as error:
        log.append(described(error))
    return values, log, sys.exc_info()[0]


def ignores(_):
    pass


def raises_again(group):
    raise group


def notes(group):
    group.add_note("seen")
    raise group.exceptions[0]


def other(_):
    raise KeyError("from a clause")


def caused(group):
    raise RuntimeError("with a cause") from group


def a_group(_):
    raise ExceptionGroup("new", [ZeroDivisionError(4)])


RAISED = {
    "nested": nested,
    "all": lambda: ExceptionGroup("all", [ValueError(1), ValueError(2)]),
    "none": lambda: ExceptionGroup("none", [OSError(1), RuntimeError(2)]),
    "naked": lambda: ValueError("naked"),
    "naked, taken second": lambda: IndexError("naked"),
    "naked, left": lambda: OSError("naked"),
    "base": lambda: BaseExceptionGroup("base", [KeyboardInterrupt(), ValueError(1), TypeError()]),
    "own class": lambda: Named("own", [ValueError(1), TypeError(2), Named("in", [OSError(3), ValueError(4)])]),
    "deep": lambda: ExceptionGroup("a", [ExceptionGroup("b", [ExceptionGroup("c", [TypeError(1)]), ValueError(2)])]),
}
CLAUSES = {
    "ignore": (ignores, ignores, ignores),
    "again": (raises_again, ignores, ignores),
    "other": (other, ignores, ignores),
    "both": (other, caused, a_group),
    "noted": (notes, raises_again, ignores),
    "caused": (ignores, caused, ignores),
}


@pytest.mark.smoke
@pytest.mark.parametrize("clauses", CLAUSES)
@pytest.mark.parametrize("raised", RAISED)
@torch._dynamo.config.patch(trace_more=True)
def test_clauses(raised, clauses):
    def f(values):
        return handled(values, RAISED[raised], CLAUSES[clauses])

    same(f, lambda: (x(),), frames=1, ops=2, breaks=[])


def bare(values, raised, second):
    """As handled(), where the clauses raise again without naming what."""
    log = []
    try:
        try:
            raise raised()
        except* ValueError as group:
            group.add_note("noted")
            raise
        except* TypeError as group:
            log.append(described(group))
            if second:
                raise
    except BaseException as error:
        log.append(described(error))
    return values + 1, log


@pytest.mark.smoke
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("raised", RAISED)
@torch._dynamo.config.patch(trace_more=True)
def test_raised_again(raised, second):
    same(lambda values: bare(values, RAISED[raised], second), lambda: (x(),), frames=1, breaks=[])


@torch._dynamo.config.patch(trace_more=True)
def test_what_is_left_leaves_the_function():
    def f(values):
        try:
            values = values + 1
            raise nested()
        except* ValueError:
            values = values * 2
        return values

    breaks_with("GB0088", f, lambda: (x(),))


@torch._dynamo.config.patch(trace_more=True)
def test_context_where_an_exception_is_handled_outside():
    def f(values):
        log = []
        try:
            raise KeyError("outer")
        except KeyError:
            try:
                try:
                    raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
                except* ValueError:
                    raise OSError("a") from None
                except* TypeError:
                    raise OSError("b")  # noqa: B904
            except ExceptionGroup as error:
                log.append(described(error))
            log.append(described(sys.exception()))
        return values + 1, log

    same(f, lambda: (x(),), frames=1, breaks=[])


@pytest.mark.parametrize("wrong", [ExceptionGroup, int, 1, (ValueError, ExceptionGroup), (ValueError, 1)], ids=str)
@torch._dynamo.config.patch(trace_more=True)
def test_clauses_that_catch_nothing_of_the_kind(wrong):
    def f(values):
        try:
            try:
                raise ValueError("v")
            except* wrong:
                values = values - 1
        except TypeError as error:
            return values + 1, described(error)

    same(f, lambda: (x(),))


@torch._dynamo.config.patch(trace_more=True)
def test_a_loop_with_clauses():
    def f(values):
        found = []
        for errors in ([ValueError(1)], [TypeError(2), ValueError(3)], [TypeError(4)]):
            try:
                raise ExceptionGroup("g", errors)
            except* ValueError as group:
                found += [e.args[0] for e in group.exceptions]
            except* TypeError:
                values = values + 1
        return values, found

    same(f, lambda: (x(),), frames=1, ops=2, breaks=[])


@torch._dynamo.config.patch(trace_more=True)
def test_a_break_in_a_clause():
    def f(values):
        try:
            values = values + 1
            raise ExceptionGroup("g", [ValueError(1), TypeError(2)])
        except* ValueError as group:
            print(len(group.exceptions))
            values = values * 2
        except* TypeError:
            values = values * 3
        return values

    same(f, lambda: (x(),))


@torch._dynamo.config.patch(trace_more=True)
def test_a_split_of_its_own():
    class Own(ExceptionGroup):
        def split(self, condition):
            return None, self

    def f(values):
        try:
            try:
                raise Own("own", [ValueError(1)])
            except* ValueError:
                values = values * 2
        except ExceptionGroup as error:
            return values + 1, described(error)

    same(f, lambda: (x(),), frames=1, ops=1, breaks=[])


@pytest.mark.parametrize("raised", RAISED)
def test_split_and_subgroup(raised):
    def f(values):
        group = RAISED[raised]()
        if not isinstance(group, BaseExceptionGroup):
            return values + 1
        group.__cause__ = KeyError("cause")
        parts = [
            *group.split(ValueError),
            *group.split((TypeError, OSError)),
            *group.split(lambda e: isinstance(e, BaseExceptionGroup) and "in" in e.message),
            group.subgroup(OSError),
            group.derive([ValueError(7)]),
            ExceptionGroup.derive(group, (ValueError(8),)),
        ]
        return values + 1, [described(p) for p in parts], repr(group), str(group), parts[0] is group

    same(f, lambda: (x(),), frames=1, ops=1, breaks=[])


def test_notes_of_parts_are_copies():
    def f(values):
        group = nested()
        group.add_note("first")
        part = group.subgroup(ValueError)
        part.add_note("second")
        return values + 1, group.__notes__, part.__notes__

    with torch._dynamo.config.patch(trace_more=True):
        same(f, lambda: (x(),), frames=1, breaks=[])


def test_derive_that_gives_no_group():
    def f(values):
        try:
            Odd("odd", [ValueError(1), TypeError(2)]).split(ValueError)
        except TypeError as error:
            return values + 1, str(error)

    same(f, lambda: (x(),), frames=1, breaks=[])


def test_members_are_those_of_the_beginning():
    def f(values):
        members = [ValueError(1)]
        group = ExceptionGroup("g", members)
        members.append(TypeError(2))
        return values + 1, group, group.exceptions, members, len(group.exceptions), group.args[1] is members

    found = torch.compile(f, backend="eager")(x())
    assert [type(e) for e in found[1].exceptions] == [ValueError]
    assert found[1].exceptions is found[2] and found[1].args[1] is found[3] and len(found[3]) == 2
    same(f, lambda: (x(),), frames=1, breaks=[])


# --- what a raise does to an exception


def test_an_exception_raised_again_has_another_context():
    def f(values):
        error = ValueError("e")
        error.__context__ = KeyError("old")
        try:
            try:
                raise TypeError("now")
            except TypeError:
                raise error  # noqa: B904
        except ValueError as caught:
            return values + 1, described(caught)

    same(f, lambda: (x(),), frames=1, breaks=[])


def test_an_exception_raised_again_while_a_caller_handles_another():
    def f(values):
        error = ValueError("e")
        error.__context__ = KeyError("old")
        try:
            raise error
        except ValueError as caught:
            return values + 1, described(caught)

    def program(call):
        found = [call(x())[1]]
        try:
            raise TypeError("outer")
        except TypeError:
            found.append(call(x())[1])
        return [*found, call(x())[1]]

    expected = program(f)
    assert expected[0] != expected[1]
    torch._dynamo.reset()
    assert program(torch.compile(f, backend="eager")) == expected
    torch._dynamo.reset()
    assert program(torch.compile(f, backend="eager"))[::-1] == expected[::-1]


def test_contexts_make_no_circle():
    def f(values):
        first = ValueError("first")
        try:
            try:
                raise first
            except ValueError:
                try:
                    raise TypeError("second")  # noqa: B904
                except TypeError:
                    raise first  # noqa: B904
        except ValueError as caught:
            return values + 1, described(caught, 4), caught.__context__.__context__ is None

    same(f, lambda: (x(),), frames=1, breaks=[])


def test_no_traceback_before_it_is_raised():
    def f(values):
        error = ValueError("e")
        before = error.__traceback__ is None
        try:
            raise error
        except ValueError:
            return values + 1, before, error.__traceback__ is None

    same(f, lambda: (x(),), frames=1, breaks=[])
