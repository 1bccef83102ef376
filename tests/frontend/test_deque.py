"""collections.deque in traced code: made there, or an argument that is changed."""

from collections import deque

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return (torch.arange(3.0),)


def test_every_method_on_one_made_here():
    def f(a):
        d = deque([a, a + 1])
        d.append(a * 2)
        d.appendleft(3)
        d.extend([4, 5])
        d.extendleft((6, 7))
        last, first = d.pop(), d.popleft()
        d.rotate(2)
        d.rotate(-1)
        d.rotate()
        d.reverse()
        copied = d.copy()
        d[1] = 9
        del d[0]
        numbers = deque((9, 4, 9))
        counted = numbers.count(9), 4 in numbers  # the other holds tensors, which have no truth
        d.clear()
        return last, first, copied, len(copied), copied[0], copied[-1], counted, bool(d), d, d.maxlen

    assert torch.compile(f, backend="eager")(*x())[-4] == (2, True)
    same(f, x, frames=1, breaks=[])


def test_bounded():
    def f(a):
        d = deque((1, 2, 3, 4), maxlen=3)
        e = deque([a], 1)
        d.append(5)
        d.appendleft(0)
        e.append(a + 1)
        d.extend(d)
        return list(d), d.maxlen, e, deque(maxlen=0), d

    same(f, x, frames=1, breaks=[])


def test_window_over_steps():
    def f(a):
        window = deque(maxlen=2)
        out = []
        for k in range(4):
            window.append(a + k)
            if len(window) == 2:
                out.append(window[0] * window[1])
        return out

    same(f, x, frames=1, breaks=[])


def test_breadth_first_walk():
    tree = {0: [1, 2], 1: [3], 2: [], 3: []}

    def f(a):
        queue, order = deque([0]), []
        while queue:
            node = queue.popleft()
            order.append(node)
            a = a + node
            queue.extend(tree[node])
        return a, order

    same(f, x, frames=1, breaks=[])


def test_argument_is_changed_after_the_graph():
    def f(a, d):
        d.append(a * 2)
        first = d.popleft()
        d[0] = "changed"
        return first, len(d), a + 1

    same(f, lambda: (*x(), deque([1, 2, 3])), frames=1, breaks=[])


def test_argument_of_tensors():
    def f(a, d):
        total = a
        for t in d:
            total = total + t
        d.rotate(1)
        return total, d[0]

    same(f, lambda: (*x(), deque([torch.ones(3), torch.ones(3) * 2])), frames=1, breaks=[])


def test_bounded_argument_is_read():
    def f(a, d):
        return a * len(d) + d[-1], d.maxlen, 2 in d, list(d)

    same(f, lambda: (*x(), deque([1, 2], maxlen=2)), frames=1, breaks=[])


def test_bounded_argument_is_changed():
    def f(a, d):
        b = a + 1
        d.append(3)
        return b * 2

    same(f, lambda: (*x(), deque([1, 2], maxlen=2)), breaks=["GB0097"])


def test_length_and_limit_are_guarded():
    compiled = torch.compile(lambda a, d: a * len(d) * (d.maxlen or 1), backend="eager")
    a = torch.ones(1)
    for d, expected in [(deque([1]), 1), (deque([1, 2]), 2), (deque([1, 2], 7), 14), (deque([1, 2], 5), 10)]:
        assert compiled(a, d).item() == expected
    assert compiled(a, deque([3], 5)).item() == 5


def test_two_arguments_that_are_one():
    def f(a, d, e):
        d.append(a)
        return a + len(e), e is d

    same(f, lambda: (*x(), deque([1]), deque([1])), frames=1)

    def one():
        d = deque([1])
        return (*x(), d, d)

    same(f, one, frames=1)


@pytest.mark.parametrize(
    "body",
    [
        lambda d: d.pop(),
        lambda d: d.popleft(),
        lambda d: d[0],
        lambda d: d[0:1],
        lambda d: deque(maxlen=-1),
        lambda d: deque(maxlen="a"),
        lambda d: d.nothing,
        lambda d: {d: 1},
        lambda d: [d.append(k) for k in d],
    ],
)
def test_errors_are_caught_in_traced_code(body):
    def f(a):
        d = deque([1]) if body.__code__.co_consts == (None,) else deque()
        try:
            body(d)
        except (IndexError, TypeError, ValueError, AttributeError, RuntimeError) as error:
            return a + 1, type(error).__name__
        return a, None

    same(f, x)


def test_change_while_iterating():
    def f(a):
        d = deque([1, 2])
        try:
            for k in d:
                d.append(k)
        except RuntimeError as error:
            return a + 1, str(error)
        return a

    same(f, x, frames=1, breaks=[])


@pytest.mark.parametrize("other", [[1, 2], (1, 2), deque([1, 2]), deque([1, 3]), deque()])
def test_comparisons(other):
    def f(a):
        d = deque([1, 2])
        return a + 1, d == other, d != other, d == deque([1, 2]), d < deque([1, 3]), d >= deque()

    same(f, x, frames=1, breaks=[])


def test_of_tensors_compared_by_identity():
    def f(a):
        b = a + 1
        return deque([b]) == deque([b]), b

    same(f, x)


@pytest.mark.parametrize(
    "use",
    [
        "d + deque([3])", "d * 2", "d.index(2)", "d.insert(1, 5)", "d.remove(1)", "reversed(d)", "iter(d)", "str(d)",
        "sorted(d)", "list(d)", "tuple(d)", "sum(d)", "max(d)", "2 in d", "[*d]", "dict(enumerate(d))",
        "list(zip(d, d))", "d.copy().maxlen",
    ],
)  # fmt: skip
def test_other_uses_answer_as_in_plain_python(use):
    function = eval(f"lambda a, d: (a + 1, [r if isinstance(r, (int, str)) else list(r) if r is not None else 0 "
                    f"for r in [{use}]], list(d))", {"deque": deque})  # fmt: skip
    same(function, lambda: (*x(), deque([1, 2])))


def test_holds_itself():
    def f(a):
        d = deque([a + 1])
        d.append(d)
        return d[0], d[1] is d, d

    compiled = torch.compile(f, backend="eager")(*x())
    assert compiled[2][1] is compiled[2] and compiled[1] is True and compiled[0] is compiled[2][0]
