"""What functions are made of, read and replaced in traced code; classes made by type(); methods written in C that
know what they are bound to."""

import re
import types

import pytest

import minidynamo as torch
from frontend.differential import same


def x():
    return (torch.tensor([1.0, 2.0, 3.0]),)


def fresh():
    def f(a, b=2, *, c=3):
        return a + b + c

    return f


F = fresh()
HIDDEN = 4
PATTERN = re.compile("(a+)")
FIND = PATTERN.findall
PROPERTY = property(lambda self: 4, None, None, "text")
STATIC = staticmethod(F)
ALIAS = list[int]


class Base:
    k = 5

    def __init__(self, z):
        self.z = z

    def g(self):
        return self.z


def text_of_error(action):
    try:
        action()
    except (TypeError, ValueError) as error:
        return type(error).__name__, str(error)


def defaults_of_a_real_function(v):
    f = fresh_one()
    F.__defaults__ = (v,)
    y = F(1)
    del F.__defaults__
    said = text_of_error(lambda: F(1))
    F.__defaults__ = (2,)
    return y + F(1) + f(1), said


def fresh_one():
    return lambda a: a


def keywords_of_a_real_function(v):
    F.__kwdefaults__ = {"c": 9}
    y = v + F(1)
    F.__kwdefaults__["c"] = 5
    y = y + F(1)
    del F.__kwdefaults__["c"]
    said = text_of_error(lambda: F(1))
    F.__kwdefaults__ = {"c": 3}
    return y + F(1), said


def keywords_changed_in_place(v):
    held = F.__kwdefaults__
    held["c"] = 11
    y = v + F(1)
    held["c"] = 3
    return y


def code_replaced(v):
    def g(a):
        return a + 1

    def h(a):
        """Of h."""
        return a * 10

    g.__code__ = h.__code__
    return v + g(2), g.__name__, g.__qualname__, g.__doc__


def what_does_not_fit(v):
    k = 1

    def g(a):
        return a + k

    return v, [
        text_of_error(lambda: setattr(g, "__code__", fresh.__code__.replace(co_freevars=()))),
        text_of_error(lambda: setattr(g, "__code__", 3)),
        text_of_error(lambda: setattr(g, "__defaults__", [1])),
        text_of_error(lambda: setattr(g, "__kwdefaults__", [1])),
    ]


def annotations(v):
    F.__annotations__ = {"a": int}
    F.__annotations__["b"] = str
    return v + len(F.__annotations__)


def closures(v):
    k = 3

    def g():
        return k, later

    cells = g.__closure__
    said = text_of_error(lambda: cells[1].cell_contents)
    cells[0].cell_contents = 10
    later = 4
    return v + k, g(), len(cells), said


def globals_of_a_function(v):
    space = F.__globals__
    return v + space["HIDDEN"] + space.get("nothing", 2), "HIDDEN" in space


def a_class(v):
    made = type("Made", (), {"v": 3, "f": lambda self, a: a + self.v, "t": v * 2})
    o = made()
    o.w = 2
    return o.f(1) + made.v + o.w + o.t, made.__name__, made.__module__, isinstance(o, made)


def a_class_below_another(v):
    made = type("Made", (Base,), {"h": lambda self: self.g() * 2})
    return v + made(4).h() + made.k, issubclass(made, Base)


def namespace_is_copied(v):
    space = {"v": 1}
    made = type("Made", (), space)
    space["v"] = 2
    space["u"] = 3
    return v + made.v, hasattr(made, "u")


def an_exception_class(v):
    made = type("Made", (ValueError,), {})
    try:
        raise made(3)
    except ValueError as error:
        return v + error.args[0]


def no_classes(v):
    return v, [
        text_of_error(lambda: type("A", 3, {})),
        text_of_error(lambda: type(3, (), {})),
        text_of_error(lambda: type("A", (int, str), {})),
    ]


def bound_methods(v):
    items = [1]
    add = items.append
    add.__self__.append(2)
    return v + len(items), add.__name__, add.__qualname__, "abc".upper.__self__


def methods_of_patterns(v):
    return v + len(FIND("aab a")), list(map(FIND, ["a", "b"]))


def found_by_iterating(v):
    numbers = (i for i in range(5))
    return v + next(numbers), 2 in numbers, next(numbers), 7 in numbers, 4 in map(abs, [1, -4])


def kept_in_c(v):
    return v + PROPERTY.fget(1) + STATIC.__func__(1), PROPERTY.fset, PROPERTY.__doc__


def aliases_and_unions(v):
    union = int | str
    return v, isinstance(ALIAS, type), isinstance(ALIAS, types.GenericAlias), isinstance(union, types.UnionType)


WHOLE = [
    defaults_of_a_real_function, keywords_of_a_real_function, keywords_changed_in_place, code_replaced, annotations,
    closures, globals_of_a_function, a_class, a_class_below_another, namespace_is_copied, an_exception_class,
    bound_methods, methods_of_patterns, found_by_iterating, kept_in_c, aliases_and_unions,
]  # fmt: skip


@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_traced_whole(function):
    same(function, x, breaks=[])


@pytest.mark.parametrize("function", [what_does_not_fit, no_classes], ids=lambda f: f.__name__)
def test_refused_as_python_refuses(function):
    same(function, x)


def globals_written(v):
    space = F.__globals__
    before = HIDDEN
    space["HIDDEN"] = 7
    v = v + HIDDEN
    space["HIDDEN"] = before
    return v


def test_globals_changed_by_way_of_their_dictionary():
    same(globals_written, x)


def test_what_escapes():
    def f(v, out):
        def g(a, b=1, *, c=2):
            return a + b + c

        g.__defaults__ = (5,)
        g.__kwdefaults__["c"] = 7
        space = {"v": 1}
        made = type("Made", (Base,), space)
        space["v"] = 2
        out += [g, made, made(3)]
        return v

    out = []
    torch.compile(f, fullgraph=True, backend="eager")(*x(), out)
    g, made, o = out
    assert g(1) == 13 and g.__kwdefaults__ == {"c": 7}
    assert type(o) is made and o.z == 3 and made.v == 1 and made.__module__ == __name__


@pytest.mark.parametrize("maker", [bytearray, types.ModuleType, type(PATTERN)], ids=lambda c: c.__name__)
def test_instances_made_in_c_have_their_code(maker):
    from minidynamo._dynamo.exc import Unsupported

    with pytest.raises(Unsupported) as caught:
        torch.compile(lambda v: (v + 1, maker("a")), fullgraph=True, backend="eager")(*x())
    assert "no rule for this form" not in str(caught.value)
