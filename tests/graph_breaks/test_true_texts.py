"""What a break says is true: the code, the explanation, and the expression under the carets, for breaks that were found
to say something else when breaks of CPython's tests and of packages were read one by one.
"""

import _warnings
import collections
import datetime
import enum
import functools
import io
import random
import re
import sys
import threading

import pytest

import minidynamo as torch
from minidynamo._dynamo import message

held = functools.partial(max, 1)
log = []
NAME = "level"


class Number(int):
    def __hash__(self):
        return 7


class Day(datetime.date, enum.Enum):
    FIRST = 2020, 1, 1


class Chosen:
    level = 3


numbers = {Number(3)}
itself = functools.partial(len)
itself.__setstate__((len, (itself,), {}, {}))


def renamed():
    """as it was"""


@functools.lru_cache
def cached(a):
    return a


def refused(function, *args):
    with pytest.raises(Exception) as caught:
        torch.compile(function, backend="eager", fullgraph=True)(*args)
    error = caught.value
    while not hasattr(
        error, "gb_code"
    ):  # operators over functions raise an error of their own, with the break as cause
        error = error.__cause__
    return error


def under_carets(error):
    """The text that the last frame of a break marks; the line, where all of it is meant."""
    lines = str(error).split("\n")
    at = max(n for n, line in enumerate(lines) if re.match(r" +File .* line \d+", line)) + 1
    if not re.fullmatch(r"\s*[~^]+", lines[at + 1]):
        return lines[at].strip()
    return lines[at][re.search(r"[~^]", lines[at + 1]).start() : len(lines[at + 1])]


def text_of_a_defaultdict(x):
    row = collections.defaultdict(int)
    return repr(row), x


def written(x):
    return f"{held!r}", x


def name_that_is_no_string(x):
    return getattr(held, 1), x


def filters(x):
    _warnings._filters_mutated()
    return x


def warns(x):
    _warnings.warn("old")
    return x


def call_of_setattr(x):
    setattr(held, NAME, 1)
    return x


def text_of_renamed(x):
    renamed.__name__ = "other"
    return str(renamed), x


def refused_name(x):
    renamed.__name__ = 3
    return x


async def ticks():
    yield 1


async def waits():
    return 1


def asynchronous_generator(x):
    return ticks(), x


def coroutine(x):
    return waits(), x


def part_of_itself(x):
    return itself.args, x


def wraps_what_is_there(x):
    return functools.update_wrapper(cached, renamed), x


def sorted_by_keys(x):
    return sorted([3, 1], key=functools.cmp_to_key(lambda a, b: a - b)), x


def made_code(x):
    exec("y = 1", {})
    return x


def region(x):
    return torch.cond(x.sum() > 0, lambda a: (log.append(1), a + 1)[1], lambda a: a - 1, (x,))


def appends(a):
    log.append(2)
    return a + 1


def region_two_calls_deep(x):
    return torch.utils.checkpoint.checkpoint(lambda a: appends(a), x, use_reentrant=False)


def raises_through_finally(x):
    try:
        raise ValueError("here")
    finally:
        log.clear()


def raises_through_another_handler(x):
    try:
        log[99]
    except KeyError:
        pass
    return x


def raises_again(x):
    try:
        log[99]
    except IndexError:
        x = x + 1
        raise


def raises_what_it_caught(x):
    try:
        log[99]
    except IndexError as error:
        raise error


def raised_in_a_callee(x):
    try:
        return raises_through_finally(x)
    finally:
        log.clear()


def bytes_to_change(x):
    return bytearray(b"ab"), x


def names_here(x):
    return dir(), x


def opened(x):
    return open("/dev/null"), x


def called_number(x, n=3):
    return n(x)


def class_from_type(x):
    return type("Made", (dict,), {}, extra=1), x


def own_class_in_c(x):
    return io.StringIO(), x


def branch_on_a_random_number(x):
    return x + (1 if random.randrange(20) == 0 else 2)


def manager_from_outside(x, lock=threading.RLock()):  # noqa: B008  it is there before
    with lock:
        return x + 1


CASES = [
    (branch_on_a_random_number, "GB0170", "or a random number", "random.randrange(20) == 0"),
    (manager_from_outside, "GB0142", "made before the traced code began, or its methods are written in C", None),
    (raises_through_finally, "GB0088", "raises an exception", 'raise ValueError("here")'),
    (raises_through_another_handler, "GB0088", "raises an exception", "log[99]"),
    (raises_again, "GB0088", "raises an exception", "log[99]"),
    (raises_what_it_caught, "GB0088", "raises an exception", "raise error"),
    (raised_in_a_callee, "GB0088", "raises an exception", 'raise ValueError("here")'),
    (bytes_to_change, "GB0059", "for arguments of types ['bytes']", 'bytearray(b"ab")'),
    (names_here, "GB0059", "`dir` lists the names that there are", "dir()"),
    (opened, "GB0059", "`open` acts outside of the program", 'open("/dev/null")'),
    (called_number, "GB0147", "The int 3 is called and is nothing that can be called", "n(x)"),
    (class_from_type, "GB0147", "`type` is called to make a class", None),
    (own_class_in_c, "GB0147", "The tracer has no rule for calls of the class `_io.StringIO`", "io.StringIO()"),
    (
        text_of_a_defaultdict,
        "GB0059",
        "The builtin `repr` has no tracing rule for arguments of types ['defaultdict']",
        "repr(row)",
    ),
    (written, "GB0059", "The builtin `repr` has no tracing rule for arguments of types ['partial']", None),
    (name_that_is_no_string, "GB0193", "`getattr` was called with a number or kind of arguments", "getattr(held, 1)"),
    (filters, "GB0007", "`_warnings._filters_mutated` is implemented in C", "_warnings._filters_mutated()"),
    (warns, "GB0007", "`warn` issues a Python warning", '_warnings.warn("old")'),
    (call_of_setattr, "GB0147", "attribute assignment on a functools.partial", "setattr(held, NAME, 1)"),
    (text_of_renamed, "GB0147", "text of a function that has changed", "str(renamed)"),
    (refused_name, "GB0088", "raises an exception", "renamed.__name__"),
    (
        asynchronous_generator,
        "GB0082" if sys.version_info < (3, 12) else "GB0079",
        "ASYNC_GEN_WRAP" if sys.version_info < (3, 12) else "intrinsic",
        "ticks()",
    ),
    (coroutine, "GB0147", "coroutine", "waits()"),
    (
        wraps_what_is_there,
        "GB0187",
        "an object of class `_lru_cache_wrapper`, an object that is there",
        "functools.update_wrapper(cached, renamed)",
    ),
    (sorted_by_keys, "GB0207", "the order of such values is not known", None),
    (made_code, "GB0059", "`exec` takes code as data", 'exec("y = 1", {})'),
    (region, "GB0067", "belongs to code around it: a list of", "log.append(1)"),
    (region_two_calls_deep, "GB0067", "belongs to code around it: a list of", "log.append(2)"),
]


@pytest.mark.parametrize("program, code, explanation, marked", CASES, ids=[case[0].__name__ for case in CASES])
def test_texts(program, code, explanation, marked):
    error = refused(program, torch.ones(3))
    assert error.gb_code == code
    assert explanation in error.explanation
    assert marked is None or under_carets(error) == marked


def left_open():
    try:
        yield 1
    finally:
        log.append(3)


def never_closed():
    while True:
        try:
            yield 1
        except GeneratorExit:
            continue


def test_the_line_of_a_generator_that_is_left_open():
    def f(x, steps):
        open_one = steps()
        next(open_one)
        return x + 1

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(3), left_open).tolist() == [2, 2, 2]
    assert under_carets(refused(f, torch.ones(3), never_closed)) == "return x + 1"


def test_places_are_called_as_in_the_program():
    said = refused(part_of_itself, torch.ones(3)).explanation
    assert "L[" not in said and "G[" not in said


def whole(program):
    plain = program(torch.ones(3))
    assert torch.compile(program, backend="eager", fullgraph=True)(torch.ones(3)).tolist() == plain.tolist()


def test_the_type_of_a_partial_is_known():
    whole(lambda x: x + isinstance(held, functools.partial) + (type(held) is functools.partial) + callable(held))


def test_the_types_of_managers_are_known():
    whole(lambda x: x + isinstance(torch.no_grad(), Chosen) + (type(torch.enable_grad()) is torch.enable_grad))
    whole(lambda x: x + hasattr(held, "func") + hasattr(held, "nothing"))


def test_a_member_given_to_its_enumeration():
    whole(lambda x: x + (Day(Day.FIRST) is Day.FIRST))


def test_variables_of_a_class():
    whole(lambda x: x + vars(Chosen)["level"])


def test_functions_are_described_anew():
    def described():
        """before"""

    def f(x):
        described.__name__, described.__doc__ = "other", "after all"
        return x + len(described.__name__) + len(described.__doc__) + (described.__class__ is type(f))

    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).tolist() == [16.0]
    assert (described.__name__, described.__doc__) == ("other", "after all")


def test_special_methods_are_bound_by_hand():
    class Frozen:
        def __setattr__(self, name, value):
            raise TypeError("frozen")

    bind, add = object.__setattr__.__get__, (3).__add__

    def f(x):
        made = Frozen()
        store = bind(made)
        store("level", 1)
        object.__setattr__.__get__(made)("depth", add(2))
        kinds = type(add), type(bind), type([].__len__), type([].append)
        return x + made.level + made.depth + [kind.__name__ for kind in kinds].index("builtin_function_or_method")

    whole(f)
    with pytest.raises(TypeError, match="doesn't apply to a 'int' object"):
        torch.compile(lambda x: (str.upper.__get__(3), x), backend="eager")(torch.ones(1))


def test_attributes_of_functions_are_deleted():
    def marked():
        pass

    def f(x):
        marks = marked.marks
        del marked.marks
        return x + len(marks) + hasattr(marked, "marks") + getattr(marked, "marks", 10)

    def twice(x):
        del marked.marks
        del marked.marks
        return x

    marked.marks = [1, 2]
    assert torch.compile(f, backend="eager", fullgraph=True)(torch.ones(1)).tolist() == [13.0]
    assert not hasattr(marked, "marks")
    marked.marks = []
    with pytest.raises(AttributeError):
        torch.compile(twice, backend="eager")(torch.ones(1))
    assert not hasattr(marked, "marks")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the message of older ones is another")
def test_a_name_that_is_no_string_raises_as_it_does():
    with pytest.raises(TypeError, match="attribute name must be string"):
        torch.compile(name_that_is_no_string, backend="eager")(torch.ones(1))


def test_the_place_of_a_break_is_in_the_program():
    frames = [("x.py", 3, "f", None), ("<frozen _collections_abc>", 574, "__eq__", None)]
    assert message.place(frames) == ("x.py", 3)
