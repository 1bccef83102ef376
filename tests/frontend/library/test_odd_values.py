"""Caches with objects and tensors, weak references, signatures, re.sub with functions: in one graph."""

import functools
import inspect
import re
import sys
import typing
import weakref

import pytest

import minidynamo as torch
from frontend.differential import same


class Thing:
    def __init__(self, v=2):
        self.v = v


class Cached:
    @functools.lru_cache  # noqa: B019 - that the cache keeps the object is what is tested
    def method(self, n):
        return n + 1


class Described:
    def __set_name__(self, owner, name):
        self.name = "_" + name

    def __get__(self, o, owner):
        return self if o is None else getattr(o, self.name, 7)

    def __set__(self, o, v):
        setattr(o, self.name, v * 2)

    def __delete__(self, o):
        delattr(o, self.name)


class HasDescriptor:
    d = Described()


class Searching:
    def __init__(self):
        self.v = 3

    def __getattribute__(self, name):
        return 5 if name == "five" else super().__getattribute__(name)


class Pair(typing.NamedTuple):
    a: object
    n: int = 2


class Lookup(dict):
    def __missing__(self, key):
        return key * 2

    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


@functools.lru_cache
def doubled(t):
    return t * 2


def with_parameters(a, b=2, *c, d=3, **e):
    return a


@functools.wraps(with_parameters)
def wrapping(*args, **kwargs):
    return with_parameters(*args, **kwargs)


THING, CACHED, TENSOR = Thing(3), Cached(), torch.tensor([1.0, 1.0, 1.0])
REFERENCE, TO_TENSOR = weakref.ref(THING), weakref.ref(TENSOR)
NUMBER = re.compile(r"\d+")


def x():
    return torch.tensor([1.0, 2.0, 3.0])


def cached_method(x):
    return x + CACHED.method(3) + CACHED.method(3)


def cached_for_a_made_tensor(x):
    y = x + 1
    return doubled(y) + doubled(y)


def referred_to(x):
    thing = REFERENCE()
    return x * thing.v if thing is not None else x


def tensor_referred_to(x):
    return x * TO_TENSOR()


def reference_made(x):
    thing = THING
    return x * weakref.ref(thing)().v


def parameters_of_a_function(x):
    ps = inspect.signature(with_parameters).parameters
    return x + len(ps), [p.kind.name for p in ps.values()], ps["b"].default, ps["a"].default is inspect.Parameter.empty


def arguments_bound(x):
    b = inspect.signature(with_parameters).bind(1, 2, 3, d=4)
    b.apply_defaults()
    return x + b.arguments["d"], b.args, b.kwargs


def signature_behind_a_wrapper(x):
    return x + 1, list(inspect.signature(wrapping).parameters)


def questions_about_functions(x):
    return x + 1, inspect.getmro(Thing)[0], inspect.isgeneratorfunction(x_and_more), inspect.isroutine(len)


def x_and_more():
    yield x()


def substituted(x):
    texts = []

    def following(m):
        texts.append(m.group())
        return str(int(m.group()) + 1)

    return x + 1, re.sub(r"\d+", following, "a1b22"), NUMBER.subn(following, "1 2 3", 2), texts


def substituted_empty(x):
    return x + 1, re.sub(r"x*", lambda m: "-" if m.group() else None, "abxd"), re.sub("q", lambda m: 1 / 0, "abc")


def substituted_by_no_text(x):
    try:
        re.sub("a", lambda m: 3, "abc")
    except TypeError as e:
        return x + 1, str(e)


def attribute_deleted(x, thing):
    v = thing.__dict__.pop("v")
    return x + v, hasattr(thing, "v"), getattr(thing, "v", 5)


def descriptor_deleted(x, o):
    a = o.d
    o.d = 3
    b = o.d
    del o.d
    return x * a + b + o.d


def compared_with_texts(x):
    return x + 1, x == "a", x != "a", x == int, x == None  # noqa: E711, E721


def pair_equal(x, pair):
    return pair.a + x, pair == pair, pair != pair


def dictionary_with_attributes(x, d):
    d["n"] = x
    return x + d["a"] + d.a, "a" in d, list(d), d["bb"]


def joined(x, texts):
    return x + 1, "/".join(texts), "".join(texts[1:])


def attributes_searched(x, o):
    o.w = o.v + 1
    return x * o.five + o.w, hasattr(o, "v"), hasattr(o, "z"), o.__dict__


def names_of_a_class(x):
    return x + ("d" in vars(HasDescriptor)), vars(Thing)["__init__"] is Thing.__init__


# The keys of re's cache hold an instance of a class of its own from CPython 3.13 on.
SUBSTITUTED = [substituted, substituted_empty, substituted_by_no_text] if sys.version_info < (3, 13) else []
CASES = [
    cached_method, cached_for_a_made_tensor, referred_to, tensor_referred_to, reference_made, parameters_of_a_function,
    arguments_bound, signature_behind_a_wrapper, questions_about_functions, *SUBSTITUTED,
    compared_with_texts, names_of_a_class,
    (attribute_deleted, Thing), (descriptor_deleted, HasDescriptor), (attributes_searched, Searching),
    (pair_equal, lambda: Pair(x())), (joined, lambda: ["a", "b"]),
    (dictionary_with_attributes, lambda: Lookup(a=x())),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda c: getattr(c, "__name__", "") or c[0].__name__)
def test_in_one_graph(case):
    re.purge()  # other tests leave keys in its cache that no guard can compare
    function, make = case if isinstance(case, tuple) else (case, None)
    same(function, lambda: (x(), make()) if make else (x(),), frames=1, breaks=[], backends=("eager",))


def test_a_referent_that_dies_is_noticed():
    def f(x, reference):
        thing = reference()
        return x if thing is None else x * thing.v

    compiled = torch.compile(f, fullgraph=True)
    thing, other = Thing(5), Thing(7)
    reference = weakref.ref(thing)
    assert compiled(x(), reference).tolist() == [5.0, 10.0, 15.0]
    assert compiled(x(), weakref.ref(other)).tolist() == [7.0, 14.0, 21.0]
    del thing
    assert compiled(x(), reference).tolist() == [1.0, 2.0, 3.0]


def test_a_cache_is_filled():
    cached = Cached()
    Cached.method.cache_clear()
    compiled = torch.compile(lambda x: x + cached.method(3), fullgraph=True)
    for _ in range(3):
        assert compiled(x()).tolist() == [5.0, 6.0, 7.0]
    assert Cached.method.cache_info()[:2] == (2, 1)


def test_a_referent_that_the_function_lets_go_of():
    class Box:
        pass

    def f(x):
        box, held = Box(), [Box()]
        refs = weakref.ref(box), weakref.ref(held[0])
        torch._dynamo.graph_break()
        alive = refs[0]() is box, refs[1]() is held[0]
        del box
        held.clear()
        return x + 1, alive, refs[0]() is None, refs[1]() is None

    same(f, lambda: (torch.ones(2),))


def test_a_cache_is_asked_with_the_very_tensor():
    calls = []

    @functools.lru_cache
    def doubled(v):
        calls.append(1)
        return v * 2

    x = torch.ones(2)
    whole = torch.compile(lambda v: doubled(v) + 1)
    assert whole(x).tolist() == whole(x).tolist() == [3, 3] and calls == [1]
