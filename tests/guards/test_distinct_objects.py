"""Objects that were two in the trace and are one later, and the other way round."""

import types

import minidynamo as torch
from guards.changing import agrees


class Box:
    def __init__(self, v=0):
        self.v = v


def x():
    return torch.tensor([1.0, 2.0])


def two_then_one(f, make, frames=None):
    """Calls f(x, a, b) with different objects, one object, and different ones again."""

    def program(call):
        call(f, x(), make(), make())
        one = make()
        call(f, x(), one, one)
        call(f, x(), make(), make())
        one = make()
        call(f, x(), one, one)

    agrees(program, frames)

    def reverse(call):
        one = make()
        call(f, x(), one, one)
        call(f, x(), make(), make())
        one = make()
        call(f, x(), one, one)

    agrees(reverse, frames)


def test_lists():
    def f(x, a, b):
        a.append(10.0)
        return x * len(b), b[-1]

    two_then_one(f, lambda: [1.0], 2)


def test_list_read_before_and_after():
    def f(x, a, b):
        first = b[0]
        a[0] = 7.0
        return x * b[0] + first

    two_then_one(f, lambda: [1.0, 2.0], 2)


def test_dicts():
    def f(x, a, b):
        a["k"] = 3
        return x * b["k"]

    two_then_one(f, lambda: {"k": 1}, 2)


def test_dict_absence():
    def f(x, a, b):
        a["new"] = 3
        return x + 1, "new" in b

    two_then_one(f, lambda: {"k": 1}, 2)


def test_sets():
    def f(x, a, b):
        a.add(5)
        return x + 1, 5 in b, len(b)

    two_then_one(f, lambda: {1}, 2)


def test_objects():
    def f(x, a, b):
        a.v = a.v + 1
        return x * b.v

    two_then_one(f, Box, 2)


def test_nested():
    def f(x, a, b):
        a.v.append(1)
        return x * len(b.v)

    def program(call):
        call(f, x(), Box([1]), Box([1]))
        shared = [1]
        call(f, x(), Box(shared), Box(shared))

    agrees(program, 2)


def test_an_item_and_an_argument():
    def f(x, a, b):
        b.append(5)
        return x * len(a[0])

    def program(call):
        call(f, x(), [[1]], [2])
        inner = [2]
        call(f, x(), [inner], inner)

    agrees(program, 2)


def test_cells():
    def f(x, write, read):
        write(5)
        return x * read()

    def pair(same):
        n, m = 1, 1

        def write(v):
            nonlocal n
            n = v

        def read_n():
            return n

        def other():
            return m

        read = types.FunctionType(
            read_n.__code__, globals(), "read", None, read_n.__closure__ if same else other.__closure__
        )
        return write, read

    def program(call):
        call(f, x(), *pair(False))
        call(f, x(), *pair(True))
        call(f, x(), *pair(False))

    agrees(program, 2)


def test_global_and_argument():
    def program(call):
        scope = {"shared": [1.0]}
        exec("def f(x, a):\n    a.append(2.0)\n    return x * len(shared)", scope)
        call(scope["f"], x(), [1.0])
        call(scope["f"], x(), scope["shared"])

    agrees(program, 2)


def test_attribute_dictionary_as_argument():
    def f(x, o, d):
        d["v"] = 5
        return x * o.v

    def program(call):
        call(f, x(), Box(1), {"v": 1})
        o = Box(1)
        call(f, x(), o, vars(o))

    agrees(program)

    def reverse(call):
        o = Box(1)
        call(f, x(), o, vars(o))
        call(f, x(), Box(1), {"v": 1})

    agrees(reverse)


def test_attribute_dictionary_read():
    def f(x, o, d):
        o.v = 5
        return x * d["v"]

    def program(call):
        call(f, x(), Box(1), {"v": 1})
        o = Box(1)
        call(f, x(), o, vars(o))

    agrees(program)


def test_identity_of_unused_objects():
    def f(x, a, b):
        return x + 1 if a is b else x - 1

    two_then_one(f, list, 2)
    two_then_one(f, Box, 2)
    two_then_one(f, x, 2)


def test_equality_by_identity():
    def f(x, a, b):
        return x + 1 if a == b else x - 1

    two_then_one(f, Box, 2)


def test_identity_of_functions():
    def make():
        def g():
            return 1

        return g

    def f(x, a, b):
        return x + 1 if a is b else x - 1

    two_then_one(f, make, 2)


def test_identity_of_equal_constants():
    def f(x, a, b):
        return x + 1 if a is b else x - 1

    two_then_one(f, lambda: float("1.5"), 2)
    two_then_one(f, lambda: int("12345678901"), 2)
    two_then_one(f, lambda: "".join(["a", "bc!"]), 2)


def test_returned_constants_keep_their_identity():
    def f(x, s):
        return x + 1, s, [s]

    def program(call):
        for _ in range(2):
            s = "".join(["long ", "text"])
            value = call(f, x(), s)
            assert value[1] is s and value[2][0] is s

    agrees(program, 1)


def test_untouched_functions_stay_cheap():
    def f(x, a, b):
        return x * a[0] + b[0]

    def program(call):
        call(f, x(), [1], [1])
        one = [1]
        call(f, x(), one, one)

    agrees(program, 1)
