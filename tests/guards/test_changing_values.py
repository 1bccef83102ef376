"""Values and containers may change between two calls."""

import math

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


EQUAL = [1, True, 1.0, 1 + 0j, 0, False, 0.0, -0.0, math.nan, math.inf, -math.inf, None, "1", b"1", 2**70, 2.0**70]


def test_equal_values_of_different_types():
    def f(x, v):
        return x + 1, v, type(v).__name__, [v] * 2, repr(v)

    def program(call):
        for v in EQUAL + EQUAL[::-1]:
            call(f, x(), v)

    agrees(program)


def test_values_reach_the_graph_exactly():
    def f(x, v):
        return x / v

    def program(call):
        for v in (0.0, -0.0, 0, False, 1, True, 1.0, math.nan, -math.nan, math.inf, -math.inf):
            call(f, x(), v)

    agrees(program)


def test_nested_tuples():
    def f(x, t):
        return x * t[0] if t[1][0] == "a" else x - t[1][1], t

    def program(call):
        for t in (
            (1, ("a", 2)),
            (1, ("a", 2)),
            (1, ("a", 2.0)),
            (True, ("a", 2)),
            (1, ("b", 2)),
            (1, ["a", 2]),
            (1, ("a",)),
        ):
            call(f, x(), t)

    agrees(program)


def test_equal_dict_keys():
    def f(x, d):
        return x * d[1], list(d), d

    def program(call):
        for d in ({1: 2}, {True: 2}, {1.0: 2}, {1: 2}, {1: 2, 2: 3}, {2: 3, 1: 2}):
            call(f, x(), d)

    agrees(program)


def test_dict_order():
    def f(x, d):
        for k, v in d.items():
            x = x * v if k == "a" else x + v
        return x

    def program(call):
        d = {"a": 2, "b": 3}
        call(f, x(), d)
        call(f, x(), d)
        d["a"] = d.pop("a")
        call(f, x(), d)
        call(f, x(), {"a": 2, "b": 3})

    agrees(program, 2)


def test_dict_written_then_measured():
    def f(x, d):
        d["b"] = 2
        return x * len(d), bool(d)

    def program(call):
        for d in ({"a": 1}, {"b": 1}, {"a": 1}, {}, {"c": 1}):
            call(f, x(), dict(d))

    agrees(program)


def test_dict_changed_while_iterated():
    def add(x, d):
        for k in d:
            d[k + "x"] = 1
        return x

    def remove(x, d):
        for _ in d:
            d.pop("b", None)
        return x

    def write(x, d):
        for _, v in d.items():
            d["b"] = 10
            x = x + v
        return x

    def program(call):
        for f in (add, remove, write):
            call(f, x(), {"a": 1, "b": 2})

    agrees(program)


def test_set_changed_while_iterated():
    def f(x, s):
        for v in s:
            s.add(v + 10)
        return x

    agrees(lambda call: call(f, x(), {1, 2}))


def test_list_changed_while_iterated():
    def f(x, values):
        for v in values:
            if len(values) < 5:
                values.append(v * 2)
            x = x + v
        return x

    agrees(lambda call: [call(f, x(), [1.0, 2.0]) for _ in range(2)])


def test_list_length():
    def f(x, values):
        for v in values:
            x = x + v
        return x

    def program(call):
        values = [1.0]
        for _ in range(3):
            call(f, x(), values)
            call(f, x(), values)
            values.append(2.0)
        values.clear()
        call(f, x(), values)

    agrees(program, None)
