"""config.trace_more: frames are left, not given up, where they cannot be split; how often that is said per function."""

import contextlib
import copy
import io
import random

import pytest

import minidynamo as torch
from frontend.differential import codes, same
from minidynamo import _C
from minidynamo._dynamo import config


@pytest.fixture(autouse=True)
def more():
    with config.patch(trace_more=True, force_replace=True):
        yield


def ends(function, make_args=tuple, calls=2):
    """(whole, partly, skipped) of the frames of a function, and of the library's functions it names by tuple."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(function, backend="eager")
    _C._count_frames(True)
    try:
        before = rows(function)
        for _ in range(calls):
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                compiled(*make_args())
        return tuple(now - then for now, then in zip(rows(function), before))
    finally:
        _C._count_frames(False)


def rows(function):
    code = function.__code__
    for row in _C._frame_counts():
        if (row["file"], row["line"], row["name"]) == (code.co_filename, code.co_firstlineno, code.co_qualname):
            return row["whole"], row["partly"], row["skipped"]
    return 0, 0, 0


def copied(first, more):
    out = [first]
    out.append(len(out))
    for v in more:
        out.append(v)
    return out


def test_a_break_in_a_loop_leaves_the_frame():
    same(copied, lambda: (1, zip([4, 5], [6, 7])), breaks={"GB0156"})
    assert ends(copied, lambda: (1, zip([4], [5]))) == (0, 2, 0)
    assert ends(copied, lambda: (1, [4])) == (2, 0, 0)


def test_without_the_setting_the_frame_is_skipped():
    with config.patch(trace_more=False):
        assert ends(copied, lambda: (1, zip([4], [5]))) == (0, 0, 2)


def test_an_exception_that_leaves_the_frame():
    def count(d):
        d["n"] = d.get("n", 0) + 1
        if d["n"] > 1:
            raise KeyError("more than one")
        return d

    same(count, lambda: ({"n": 1},), breaks={"GB0088"})
    assert ends(count, lambda: ({"n": 1},)) == (0, 2, 0)


def test_one_call_that_raises_does_not_give_up_the_others():
    def item(values, at):
        values = dict(values)
        return values[at]

    def calls(item=item):
        seen = []
        for at in "azbz":
            try:
                seen.append(item({"a": 1, "b": 2}, at))
            except KeyError as error:
                seen.append(str(error))
        return seen

    assert calls() == calls(torch.compile(item, backend="eager"))
    torch._dynamo.reset()
    compiled = torch.compile(item, backend="eager")
    _C._count_frames(True)
    try:
        before = rows(item)
        calls(compiled)
        assert tuple(now - then for now, then in zip(rows(item), before)) == (2, 2, 0)
    finally:
        _C._count_frames(False)


def test_raised_inside_an_inlined_call_and_handled_there():
    def inner(d):
        d["inner"] = 1
        raise ValueError(len(d))

    def outer(d):
        d["outer"] = 1
        try:
            inner(d)
        finally:
            d["end"] = 1

    same(outer, lambda: ({},), breaks={"GB0088", "GB0092"})  # the exception cannot be kept over the break
    assert ends(outer, lambda: ({},)) == (0, 2, 0)


class Manager:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, kind, value, trace):
        self.log.append(kind and kind.__name__)
        return kind is ZeroDivisionError


@pytest.mark.parametrize("divisor", [0, 1])
def test_a_break_inside_of_with(divisor):
    def managed(log, n):
        log.append("before")
        with Manager(log):
            print("inside")
            log.append(1 // n)
        return log

    same(managed, lambda: ([], divisor), breaks={"GB0059"})
    assert ends(managed, lambda: ([], divisor)) == (0, 2, 0)


def test_grad_mode_goes_on_in_what_is_left():
    def f(x, more):
        y = x * 2
        with torch.no_grad():
            for v in more:
                y = y + v[0]
                print(torch.is_grad_enabled())
        return y, torch.is_grad_enabled()

    same(f, lambda: (torch.ones(2, requires_grad=True), zip([1, 2])), breaks={"GB0156"})


def test_tensors_before_the_place_are_a_graph():
    def f(x, more):
        y = x + 1
        total = y * 2
        for v in more:
            total = total + v[0]
        return total

    same(f, lambda: (torch.arange(3.0), zip([1.0, 2.0])), frames=1, ops=2, breaks={"GB0156"})


def test_cells_and_closures_in_what_is_left():
    def f(more):
        count = 0

        def add(v):
            nonlocal count
            count += v

        add(5)
        for v in more:
            add(v[0])
        return count, add.__closure__[0].cell_contents

    same(f, lambda: (zip([1, 2]),), breaks={"GB0156"})
    assert ends(f, lambda: (zip([1, 2]),)) == (0, 2, 0)


def test_nothing_before_the_break_is_no_entry():
    def f(more):
        for v in more:
            return v

    assert ends(f, lambda: (zip([1]),)) == (0, 0, 2)


def test_functions_of_many_values_get_general_entries():
    def named(d, key, kind):
        d.append(key)
        return key + kind

    with config.patch(recompile_limit=4):
        torch._dynamo.reset()
        compiled = torch.compile(named, backend="eager")
        _C._count_frames(True)
        try:
            before = rows(named)
            for n in range(40):
                plain, traced = [], []
                assert compiled(traced, f"key{n}", "x") == named(plain, f"key{n}", "x")
                assert traced == plain
            assert tuple(now - then for now, then in zip(rows(named), before)) == (4, 36, 0)
        finally:
            _C._count_frames(False)


def test_random_numbers_are_drawn_when_the_program_runs():
    def roll(log):
        first = random.randrange(100)
        second = random.random()
        log.append(first)
        log.append(random.uniform(0, 5))
        return first, [second], random.randint(1, 6)

    def make():
        random.seed(12)
        return ([],)

    same(roll, make, breaks=set())
    assert ends(roll, make) == (2, 0, 0)


def test_a_number_drawn_and_looked_at():
    def roll(log):
        n = random.randrange(100)
        log.append(n)
        return "high" if n > 50 else "low"

    def make():
        random.seed(3)
        return ([],)

    same(roll, make, calls=4, breaks={"GB0170"})
    assert ends(roll, make) == (0, 2, 0)


def test_draws_that_fail_raise_where_they_stand():
    def roll(log):
        log.append(1)
        return random.randrange(0)

    same(roll, lambda: ([],))


def test_streams_are_read_and_written_when_the_program_runs():
    class File:
        def __init__(self):
            self.file = io.BytesIO(b"some bytes")
            self.read_file = self.file.read
            self.count = 0

        def read(self, n):
            self.count += n
            return self.read_file(n)

        def write(self, data):
            self.count += 1
            return self.file.write(data)

    def run(read, write, file):
        return [read(file, 3), write(file, b"xy"), read(file, 20), file.file.getvalue(), file.count]

    def read(file, n):
        return file.read(n)

    def write(file, data):
        return file.write(data)

    torch._dynamo.reset()
    expected = run(read, write, File())
    for _ in range(2):
        assert run(torch.compile(read, backend="eager"), torch.compile(write, backend="eager"), File()) == expected
    assert ends(read, lambda: (File(), 3)) == (2, 0, 0)
    closed = File()
    closed.file.close()
    with pytest.raises(ValueError, match="closed file") as plain:
        read(closed, 3)
    with pytest.raises(ValueError, match="closed file") as traced:
        torch.compile(read, backend="eager")(closed, 3)
    lines = [[(e.name, e.lineno + 1) for e in caught.traceback][1:] for caught in (plain, traced)]
    assert lines[0] == lines[1]
    assert closed.count == 6


def test_bound_methods_written_in_c_are_traced():
    def fill(add, get, key):
        add(1)
        add(key)
        return get(key, "none")

    def make():
        d, out = {"a": [1]}, []
        return out.append, d.get, "a"

    same(fill, make, breaks=set())
    assert ends(fill, make) == (2, 0, 0)


def test_another_method_of_the_same_object_is_another_one():
    def call(x, method):
        return x + 1, method(2)

    def ways(f):
        numbers, more = {1, 2, 3}, [2]
        methods = (numbers.discard, numbers.add, more.append, more.count, more.index, more.append, numbers.remove)
        return [(f(torch.ones(1), m)[1], sorted(numbers), list(more)) for m in methods]

    assert ways(call) == ways(torch.compile(call))


def test_generators_with_all_kinds_of_parameters_are_handed_on():
    def numbers(a, *more, step=1, **named):
        yield a
        yield from more
        yield step
        yield named

    def make(kept):
        kept.append(numbers(1, 2, 3, step=4, name=5))
        return kept

    def read(kept):
        return [list(g) for g in kept]

    def both(make):
        return read(make([]))

    assert both(make) == both(torch.compile(make, backend="eager"))
    assert ends(make, lambda: ([],)) == (2, 0, 0)


def test_codes_are_still_counted():
    def f(d):
        d["a"] = 1
        raise KeyError

    ends(f, lambda: ({},))
    assert codes() == {"GB0088"}


class Meta(type):
    pass


def test_a_class_with_a_metaclass_breaks_at_the_call_that_makes_it():
    def f(n):
        base = n + 1

        class Local(metaclass=Meta):
            value = base

            def double(self):
                return self.value * 2

        return Local().double(), Local.__name__, Local.__qualname__

    same(f, lambda: (3,), breaks={"GB0075"})
    assert ends(f, lambda: (3,)) == (0, 2, 0)


def test_rows_that_name_plain_constructs_are_lifted():
    def f(values):
        error = ValueError("text")
        error.code = 5
        made = copy.deepcopy(values)
        return made, made is values, error.code, vars(error)

    same(f, lambda: ([1, [2]],))
    with config.patch(trace_more=False):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        torch.compile(f, backend="eager")([1, [2]])
        assert codes() >= {"GB0135"}


def test_copies_are_traced():
    def f(values):
        return copy.deepcopy(values), copy.copy(values)

    same(f, lambda: ({"a": [1, 2], "b": (3, [4])},))
    same(f, lambda: ([1, 2, [3]],))
