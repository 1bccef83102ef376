"""Where a class or its metaclass decides what an object is or does, builtin behaviour does not stand in for it."""

import collections
import copy
import types
import typing

import pytest

import minidynamo as torch
from frontend.differential import same

pytestmark = pytest.mark.usefixtures("replaced_both_ways")


class Answers(type):
    def __instancecheck__(cls, instance):
        return instance == 3

    def __subclasscheck__(cls, subclass):
        return subclass is str


class Asked(metaclass=Answers):
    pass


def test_a_metaclass_answers_isinstance():
    def f():
        checks = [isinstance(x, Asked) for x in (3, 4, Asked())]
        several = [isinstance(x, (str, (Asked,))) for x in (3, 4, "a")]
        return checks, several, isinstance(3, Asked | str), isinstance(4, int | Asked)

    same(f)


def test_a_metaclass_answers_issubclass():
    same(lambda: (issubclass(str, Asked), issubclass(int, Asked), issubclass(str, (int, Asked))))


def test_isinstance_that_the_metaclass_refuses():
    def f():
        try:
            return isinstance(42, typing.Any)
        except TypeError as error:
            return str(error)

    same(f)


class MakesDicts(type):
    __call__ = dict


class MakesLengths(type):
    __call__ = len


class Made(metaclass=MakesDicts):
    pass


class Measured(metaclass=MakesLengths):
    pass


class Movie(typing.TypedDict):
    name: str


def test_what_calling_a_class_makes():
    same(lambda: (Made(a=1), type(Made()) is dict, Movie(name="x"), type(Movie(name="x")) is dict, Measured([1, 2])))


class Vector(typing.NamedTuple):
    x: int
    y: int = 1

    def __add__(self, other):
        return ("sum", self.x, other)

    def __mul__(self, other):
        return "product"

    def __lt__(self, other):
        return "less"

    def __len__(self):
        return 9

    def __getitem__(self, i):
        return ("item", i)

    def __contains__(self, x):
        return x == 11

    def __iter__(self):
        return iter([12])

    def __bool__(self):
        return False


def test_a_named_tuple_with_methods_of_its_own():
    def f(t, v):
        made = Vector(1, 2)
        t = t + (1 if made else 2)
        facts = [len(made), len(v), made[0], v[0], 11 in v, 1 in made, list(v), [*made], not v, made.x, v.y]
        return t, made + v, v * 2, made < v, facts, v, Vector(5)

    same(f, lambda: (torch.ones(2), Vector(3)))


class Below(collections.namedtuple("Below", "a b")):
    def __add__(self, other):
        return "added"

    def __iter__(self):
        return iter("xy")


def test_a_class_below_a_named_tuple():
    def f(t, given):
        made = Below(1, 2)
        return t + made.a, made + given, list(given), given._asdict(), len(made), made

    same(f, lambda: (torch.ones(2), Below(3, 4)))


def test_groups_of_exceptions_are_exceptions():
    def f():
        plain = BaseExceptionGroup("a", [ValueError(1)])
        base = BaseExceptionGroup("a", [ValueError(1), KeyboardInterrupt()])
        return type(plain) is ExceptionGroup, type(base) is BaseExceptionGroup

    same(f)


def test_groups_made_of_what_does_not_fit():
    def f(cls, exceptions):
        try:
            return type(cls("a", exceptions)).__name__
        except (TypeError, ValueError) as error:
            return str(error)

    class Group(ExceptionGroup):
        pass

    class Both(BaseExceptionGroup, ValueError):
        pass

    for cls in (BaseExceptionGroup, ExceptionGroup, Group, Both):
        for make in (lambda: [], lambda: [1], lambda: 3, lambda: [KeyboardInterrupt()], lambda: (ValueError(),)):
            same(f, lambda cls=cls, make=make: (cls, make()))
    same(lambda: f(ExceptionGroup, [KeyboardInterrupt()]))
    same(lambda: f(ExceptionGroup, []))


def test_an_errno_chooses_the_class():
    def f(x):
        try:
            raise OSError(2, "gone")
        except FileNotFoundError as error:
            return x + 1, type(error).__name__, error.errno, error.args

    def named():
        error = OSError(2, "gone", "name")
        return type(error).__name__, error.args, error.filename

    same(f, lambda: (torch.ones(2),))
    same(named)


def test_exceptions_that_refuse_their_arguments():
    def f(cls, args):
        try:
            return cls(*args).args
        except TypeError as error:
            return str(error)

    for cls in (UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError):
        same(lambda cls=cls: f(cls, (1,)))
    same(lambda: f(SyntaxError, ("a", 1)))
    same(lambda: f(UnicodeDecodeError, ("utf-8", b"a", 0, 1, "why")))


def test_methods_of_dict_on_an_ordered_dict():
    def f(method, *args):
        d = collections.OrderedDict(a=1, b=2)
        method(d, *args)
        return dict.__len__(d), list(dict.keys(d))

    for method, args in (
        (dict.__delitem__, ("a",)),
        (dict.popitem, ()),
        (dict.pop, ("a",)),
        (dict.update, ([("c", 3)],)),
    ):
        same(lambda method=method, args=args: f(method, *args))


def test_methods_of_dict_on_a_defaultdict():
    def f():
        d = collections.defaultdict(list, a=1)
        return type(dict.copy(d)), dict.__repr__(d), dict.__getitem__(d, "a")

    same(f)


class Listed(list):
    pass


def test_methods_of_object_on_values_of_builtin_types():
    def f():
        a, b = Listed([1]), Listed([1])
        equal = [object.__eq__(a, b), object.__eq__(a, a), object.__eq__([], []), object.__ne__(1, 2)]
        return equal, object.__repr__(a)[:10], object.__repr__([])[:5], object.__str__([1])

    def initialised():
        a = Listed()
        try:
            object.__init__(a, [1, 2])
        except TypeError as error:
            return a, str(error)
        return a

    same(f)
    same(initialised)


def test_methods_of_int_on_a_bool():
    same(lambda: (int.__and__(True, False), int.__repr__(True), int.__or__(True, False), int.__add__(True, True)))


class Module(types.ModuleType):
    a = 1


def test_a_module_with_a_class_of_its_own():
    def f():
        m = types.ModuleType("m")
        found = [hasattr(m, "a")]
        m.__class__ = Module
        found += [hasattr(m, "a"), m.a, hasattr(m, "b")]
        m.__class__ = types.ModuleType
        return found, hasattr(m, "a")

    def asks(m):
        return hasattr(m, "a"), hasattr(m, "b")

    same(f)
    same(asks, lambda: (Module("m"),))
    same(asks, lambda: (types.ModuleType("m"),))


def test_attributes_that_a_module_computes():
    m = types.ModuleType("m")
    m.__getattr__ = lambda name: {"a": 1}[name] if name == "a" else getattr(object, name)
    same(lambda m: (hasattr(m, "a"), hasattr(m, "b")), lambda: (m,))


class Clears:
    def __init__(self, other):
        self.other = other

    def __eq__(self, other):
        self.other.clear()
        return NotImplemented


def test_lists_that_change_while_they_are_compared():
    def pair(rest, other):
        a, b = [], list(other)
        a += [Clears(b), *rest]
        b and b.insert(0, Clears(a))
        return a, b

    def f():
        results = []
        for rest, other in (((), (1,)), ((1,), ()), ((4,), (3, 4)), ((), ())):
            a, b = pair(rest, other)
            results.append((a == b, len(a), len(b)))
            a, b = pair(rest, other)
            results.append((a != b, len(a), len(b)))
        a, b = [], [3, 4]
        a += [Clears(b), 4]
        results.append(a < b)
        return results

    same(f)


class Reduced:
    def __init__(self, parts=()):
        self.parts = parts

    def __reduce__(self):
        return (Reduced, (), *self.parts)


@pytest.mark.parametrize(
    "parts", [(), (None,), (None, None, None), (None, None, None, None), ({"a": 1}, None, None, setattr)]
)
def test_copies_by_reduce(parts):
    def f(x):
        try:
            return vars(copy.copy(x))
        except TypeError as error:
            return str(error)

    same(f, lambda: (Reduced(parts),))


def test_a_view_of_a_mapping_equals_it():
    class Dict(dict):
        pass

    def f():
        results = []
        for cls in (dict, Dict):
            d = cls(a=1)
            m, view = types.MappingProxyType(d), d.keys().mapping
            results += [m == d, m != d, m == {"a": 1}, {"a": 1} == m, view == d, view == m, d == view]
        return results

    same(f)


class Loose(dict):
    def __eq__(self, other):
        return dict.__eq__(self, other) and list(self) == list(other)

    __ne__ = object.__ne__


def test_object_ne_asks_eq():
    def f(a, b):
        c, d = Loose(a=1, b=2), Loose(b=2, a=1)
        return a != b, c != d, c != c, not a != a

    same(f, lambda: (Loose(a=1, b=2), Loose(b=2, a=1)))
