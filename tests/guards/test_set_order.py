"""The order of sets is what plain Python gives, and it is guarded."""

import minidynamo as torch
from guards.changing import agrees


def x():
    return torch.tensor([1.0, 2.0])


def colliding(order):
    s = set()
    for v in order:
        s.add(v)
    return s


def test_set_order():
    def f(x, s):
        for v in s:
            x = x * 2 + v
        return x

    def program(call):
        for order in ((0, 8), (8, 0), (0, 8), (0, 8, 16), (16, 8, 0)):
            call(f, x(), colliding(order))
            call(f, x(), frozenset(colliding(order)))

    agrees(program)


def test_set_order_through_builtins():
    def f(x, s):
        return x + 1, list(s), tuple(s), [v for v in s], sorted(s), dict.fromkeys(s)

    def g(x, s):
        a, *rest = s
        return x * a, rest, max(s), list(enumerate(s)), list(zip(s, s))

    def program(call):
        for order in ((0, 8), (8, 0), (0, 8, 16, 24), (24, 16, 8, 0)):
            call(f, x(), colliding(order))
            call(g, x(), colliding(order))

    agrees(program)


def test_set_order_after_changes():
    def f(x, s):
        s.add(16)
        s.discard(0)
        return x + 1, list(s)

    def program(call):
        for order in ((0, 8), (8, 0), (0, 8, 16), (16, 8, 0)):
            call(f, x(), colliding(order))

    agrees(program)


def test_order_of_sets_made_inside():
    def f(x, s):
        copied, joined = s.copy(), s | {24, 32}
        return x + 1, copied, joined, s & {0, 8}, set([8, 0, 16]), frozenset([16, 0]), s - {8}, s ^ {8, 40}

    def program(call):
        for order in ((0, 8), (8, 0), (0, 8, 16, 33, 65, 97, 129), (16, 8, 0, 129, 97, 65)):
            call(f, x(), colliding(order))

    agrees(program)


def test_set_membership_ignores_order():
    def f(x, s):
        return x + 1 if 8 in s else x

    def program(call):
        call(f, x(), colliding((0, 8)))
        call(f, x(), colliding((8, 0)))

    agrees(program, 1)
