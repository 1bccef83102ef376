"""What breaks say: values in plain words, the line that is meant, and advice that works when it is followed."""

import datetime
import functools
import operator
import re
import threading
import types

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.exc import FailOnRecompileLimitHit, Unsupported

X = torch.ones(2)
NUMBERS = [1.0, 2.0]
LOCK = threading.Lock()
MAPPING = types.MappingProxyType({"scale": 2.0})


def refused(f, *args):
    torch._dynamo.reset()
    with pytest.raises(Unsupported) as info:
        torch.compile(f, backend="eager", fullgraph=True)(*(args or (X,)))
    return info.value


def broken(x):
    raise ValueError("bad")


def test_the_stack_ends_where_it_was_raised():
    def middle(x):
        return broken(x + 1)

    error = refused(lambda x: middle(x))
    assert error.gb_code == "GB0088"
    assert [f.name for f in error.real_stack] == ["<lambda>", "middle", "broken"]
    assert error.real_stack[-1].lineno == broken.__code__.co_firstlineno + 1


def test_a_raise_after_a_caught_one():
    def again(x):
        try:
            broken(x)
        except ValueError as error:
            kept = error
        raise kept

    error = refused(again)
    assert [f.name for f in error.real_stack] == ["again"]


def marked(f):
    @functools.wraps(f)
    def inner(x):
        yield f(x)

    return inner


def test_a_generator_is_shown_where_it_is_called():
    error = refused(marked(lambda x: x))
    assert error.gb_code == "GB0003" and [f.name for f in error.real_stack] == ["refused"]


def identity(*xs):
    return xs[0]


CARETS = [
    (lambda x, n: identity(x, 1) + torch.tensor(identity(x).tolist()), "identity(x).tolist()", "~~~~~~~~~~~~~~~~~~^^"),
    (lambda x, n: (x + 1, 2 if x.sum() > 0 else 3), "x.sum() > 0", "^^^^^^^^^^^"),
    (lambda x, n: [n, (1, 2)[x]], "(1, 2)[x]", "~~~~~~^^^"),
    (lambda x, n: identity(n, identity(print(n), x)), "print(n)", "~~~~~^^^"),
]


@pytest.mark.parametrize(("f", "expression", "marks"), CARETS)
def test_carets_are_under_the_expression_that_broke(f, expression, marks):
    lines = str(refused(f, X, 1)).split("\n")
    (at,) = [k for k, line in enumerate(lines) if line.strip().startswith("(lambda x, n")]
    start = lines[at].index(expression)
    assert lines[at + 1].index(marks[0]) == start and lines[at + 1].strip() == marks


def test_every_frame_shows_what_it_was_at():
    def inner(x):
        return identity("größe", print(x), x)

    def outer(x):
        return identity(x) + inner(
            x,
        )

    stack = str(refused(outer, X)).split("from user code:\n")[1]
    outer_lines = (
        "    return identity(x) + inner(\n                         ~~~~~^\n        x,\n        ^^\n    )\n    ^\n"
    )
    assert outer_lines in stack
    assert '    return identity("größe", print(x), x)\n                             ~~~~~^^^\n' in stack


def test_modules_are_shown_from_the_programs_first_frame():
    class Part(torch.nn.Module):
        def forward(self, x):
            torch._dynamo.graph_break()
            return x

    error = refused(Part(), X)
    assert [f.name for f in error.real_stack] == ["forward"]
    assert "without a message" in error.explanation


INTERNAL = re.compile(r"Variable|VariableTracker|0x[0-9a-f]{4}|<unknown module>|<class '|reason: None|Message: None")
BREAKS = {
    "lock": lambda x: with_lock(x),
    "index": lambda x: operator.index(x),
    "list": lambda x: [1, 2][x.sum()],
    "timedelta": lambda x: (x, datetime.timedelta(days=2) * 2),
    "disabled": lambda x: slow(x),
}


@torch.compiler.disable
def slow(x):
    return x


def with_lock(x):
    with LOCK:
        return x + 1


@pytest.mark.parametrize("f", BREAKS.values(), ids=list(BREAKS))
def test_no_internal_names(f):
    error = refused(f)
    said = " ".join([error.explanation, *error.hints])
    assert not INTERNAL.search(said), said


@pytest.mark.parametrize(("f", "words"), [(with_lock, "an object of class `lock`"), (lambda x: slow(x), "`slow`")])
def test_values_are_called_what_they_are(f, words):
    assert words in refused(f).explanation


def test_the_limit_as_an_error_explains_itself():
    torch._dynamo.reset()
    f = torch.compile(lambda x, flag: x * len(flag), backend="eager", fullgraph=True)
    with torch._dynamo.config.patch(recompile_limit=1), pytest.raises(FailOnRecompileLimitHit) as info:
        for n in range(3):
            f(X, "a" * n)
    assert info.value.gb_code == "GB0039"
    assert "Explanation: " in str(info.value) and "gb0039.html" in str(info.value)


def test_text_by_a_method_of_the_program():
    class Day(datetime.date):
        def __str__(self):
            return "some day"

    day = Day(2020, 1, 1)
    same(lambda x: (x + 1, str(day)), lambda: (torch.ones(2),), frames=1, breaks=[])


def test_tensors_of_lists():
    same(lambda x, v: x + torch.tensor(v), lambda: (torch.ones(2), [1.0, 2.0]), frames=1, breaks=[])
    same(lambda x, v: x + torch.tensor(v), lambda: (torch.ones(2), [[1, 2], (3, 4)]), frames=1, breaks=[])
    same(lambda x: x + torch.tensor(NUMBERS), lambda: (torch.ones(2),), frames=1, breaks=[])
    same(lambda x, v: torch.as_tensor(v, dtype=x.dtype) * x, lambda: (torch.ones(2), (1, 2)), frames=1, breaks=[])
    same(lambda x, v: x + torch.tensor(v), lambda: (torch.ones(2), [1.0, "a"]))


def test_a_list_that_changes_is_another_tensor():
    f = torch.compile(lambda x, v: x + torch.tensor(v), backend="eager", fullgraph=True)
    values = [1.0, 2.0]
    assert f(X, values).tolist() == [2.0, 3.0]
    values[1] = 5.0
    assert f(X, values).tolist() == [2.0, 6.0]


def test_a_grad_flag_that_stays():
    same(lambda x: x.requires_grad_(False) + 1, lambda: (torch.ones(2),), frames=1, breaks=[])
    same(lambda x: x.requires_grad_() is x, lambda: (torch.ones(2, requires_grad=True),), breaks=[])
    same(lambda x: x.clone().requires_grad_(requires_grad=False), lambda: (torch.ones(2),), frames=1, breaks=[])


FOLLOWED = {
    "GB0182 shapes": lambda x: x + 1 if x.shape == torch.ones(3).shape else x * 2,
    "GB0182 equal": lambda x: x + 1 if torch.equal(x, torch.ones(3)) else x * 2,
    "GB0218": lambda x: torch.tensor([3.0, 4.0])[x.sum().long() - 2],
    "GB0125": lambda x: x.requires_grad_() * 2 if x.requires_grad else x * 2,
}


@pytest.mark.parametrize("f", FOLLOWED.values(), ids=list(FOLLOWED))
def test_followed(f):
    same(f, lambda: (torch.ones(2),), frames=1, breaks=[])


def test_followed_outside():
    f = torch.compile(lambda x, **names: x * names["scale"], backend="eager", fullgraph=True)
    with LOCK:
        assert f(X, **dict(MAPPING)).tolist() == [2.0, 2.0]
    again = datetime.timedelta(days=2)
    g = torch.compile(lambda x, t: (x + 1, t), backend="eager", fullgraph=True)
    assert g(X, again)[1] is again


def test_followed_settings():
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        same(lambda x: x.nonzero() + 1, lambda: (torch.tensor([0.0, 1.0]),), frames=1, breaks=[])
