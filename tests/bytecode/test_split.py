"""Splitting functions at every instruction: same result, log, exception and traceback line as the whole function."""

import sys

import pytest
from minidynamo._C import _bytecode

from bytecode.splitting import Split
from bytecode.tricky import CASES, Derived, Manager, log, loops

# What a break cannot execute on its own: it changes slots or depends on its place.
NOT_ALONE = set(
    "STORE_FAST DELETE_FAST LOAD_FAST_AND_CLEAR MAKE_CELL COPY_FREE_VARS RESUME RETURN_VALUE RERAISE JUMP".split()
)
# MAKE_FUNCTION takes attributes along before 3.13, so nothing can start at them either.
INSEPARABLE = set()
if sys.version_info < (3, 13):
    INSEPARABLE = {"SET_FUNCTION_ATTRIBUTE"}
    NOT_ALONE |= {"MAKE_FUNCTION", "SET_FUNCTION_ATTRIBUTE"}


def outcome(function, args):
    """What a call does: result or exception with its last line, the log, and the exception state left behind."""
    log.clear()
    try:
        result = ("returned", repr(function(*args)))
    except Exception as error:
        traceback = error.__traceback__
        while traceback.tb_next:
            traceback = traceback.tb_next
        place = traceback.tb_frame.f_code.co_name, traceback.tb_lineno
        result = ("raised", type(error), str(error), repr(error.__cause__), repr(error.__context__), place)
    return result, list(log), sys.exc_info()[0]


def owner_of(function):
    owner = sys.modules[function.__module__]
    *path, name = function.__qualname__.split(".")
    for part in path:
        owner = getattr(owner, part)
    return owner, name


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[1].__name__}-{str(case[2])[:20]}")
def test_every_instruction(case, monkeypatch):
    functions, entry, args = case
    outcome(entry, args)
    expected = outcome(entry, args)
    done = 0
    for function in functions:
        for point in _bytecode.split_points(function.__code__):
            if point[1] in INSEPARABLE:
                continue
            halves = Split(function, point)
            ways = [halves.resume_before] + [halves.run_instruction] * (point[1] not in NOT_ALONE)
            for finish in ways:
                driver = halves.driver(finish)
                monkeypatch.setattr(*owner_of(function), driver)
                got = outcome(driver if entry is function else entry, args)
                monkeypatch.undo()
                assert got == expected, (function.__name__, point, finish.__name__)
                done += 1
    assert done > 20
    print(entry.__name__, done)


def test_not_splittable():
    def generator():
        yield 1

    def plain():
        pass

    with pytest.raises(SystemError, match="generator"):
        _bytecode.split(generator.__code__, 3, [], [])
    module = compile("x = 1", "m", "exec")
    with pytest.raises(SystemError, match="not a function"):
        _bytecode.split(module, 1, [], [])
    with pytest.raises(SystemError, match="no such instruction"):
        _bytecode.split(plain.__code__, 99, [], [])
    with pytest.raises(SystemError, match="another depth"):
        _bytecode.split(plain.__code__, 1, [False], [])
    points = _bytecode.split_points(plain.__code__)
    assert [name for _, name, *_ in points] == ["LOAD_CONST", "RETURN_VALUE"]
    with pytest.raises(SystemError, match="cannot split: RETURN_VALUE"):
        _bytecode.split(plain.__code__, *points[1][:1], *points[1][2:4])


def test_super_keeps_its_argument():
    """super() reads slot 0 without naming it, so liveness of names must not drop it."""
    code = Derived.plain.__code__
    call = [p for p in _bytecode.split_points(code) if p[1] == "CALL"][-1]
    dead = [False] * len(call[3])
    parts = _bytecode.split(code, call[0], call[2], dead)
    assert parts["break"][1][0] == parts["resume"][1][0] == ("slot", 0)
    assert parts["break"][0].co_varnames[0] == "self"
    call = [p for p in _bytecode.split_points(loops.__code__) if p[1] == "GET_ITER"][0]
    parts = _bytecode.split(loops.__code__, call[0], call[2], [False] * len(call[3]))
    assert parts["break"][1] == [("stack", 0)]


def in_context(x):
    with Manager("m"):
        a = [x]
        return a[0] + divmod(x, 2)[1] + len(a)


def in_two_contexts(x):
    with Manager("m") as m, Manager("n"):
        log.append(m.name)
        b = max(x, 1 // x)
    return b


def without(items, part):
    """`items` without every stretch equal to `part`, and how many there were."""
    count = 0
    for k in range(len(items) - len(part), -1, -1):
        if items[k : k + len(part)] == part:
            items = items[:k] + items[k + len(part) :]
            count += 1
    return items, count


def exit_positions(names):
    """The exit functions on the stack are the lowest items."""
    return tuple((k, Manager, (name,)) for k, name in enumerate(names))


@pytest.mark.parametrize(
    "function,names,args", [(in_context, "m", (3,)), (in_two_contexts, "mn", (2,)), (in_two_contexts, "mn", (0,))]
)
def test_contexts_are_left_and_entered_again(function, names, args):
    result, whole_log, _ = outcome(function, args)
    counts = set()
    for point in _bytecode.split_points(function.__code__):
        # The handler of the innermost manager covers the body only.
        inside = point[4][:2] > (-1, 0) and point[4][1] == len(names) and len(point[2]) > len(names)
        inside = inside and point[1] in ("CALL", "BINARY_SUBSCR", "BINARY_OP")
        if not inside:
            continue
        halves = Split(function, point, exit_positions(names))
        # An exception has passed the managers when it comes out of the break part: nobody resumes at a handler.
        halves.handler = (-1, 0, False)
        got, got_log, state = outcome(halves.driver(halves.run_instruction), args)
        assert got == result and state is None
        again = [("exit", n, None) for n in reversed(names)] + [("enter", n) for n in names]
        stripped, times = without(got_log, again)
        assert stripped == whole_log
        counts.add(times)
    # Before the break and in the resume prologue; fewer when the break or something before it raised.
    assert counts == ({2} if result[0] == "returned" else {0, 1, 2})


def test_names_and_lines():
    function = in_context
    point = next(p for p in _bytecode.split_points(function.__code__) if p[1] == "BINARY_SUBSCR")
    parts = _bytecode.split(function.__code__, *point[:1], *point[2:4])
    first = function.__code__.co_firstlineno
    assert parts["line"] == first + 3
    for part in (parts["break"], parts["resume"]):
        code, parameters = part
        assert (code.co_name, code.co_qualname, code.co_firstlineno) == ("in_context", "in_context", first)
        assert code.co_filename == function.__code__.co_filename
        assert code.co_argcount == len(parameters) == len(code.co_varnames[: code.co_argcount])
        assert code.co_varnames[0] == "___stack0" and parameters[0] == ("stack", 0)
    printed = [row[8] for row in _bytecode.decode(parts["resume"][0])]
    assert "DELETE_FAST" not in printed and "LOAD_FAST_AND_CLEAR" not in printed
