"""Iterators of itertools and of builtin functions: what they give, what is handed on, and in which order things run."""

import collections
import copy
import functools
import itertools
import operator
import types

import pytest

from .programs import check

ITERATORS = {
    "product": lambda: itertools.product([1, 2], "ab", repeat=2),
    "product of nothing": lambda: itertools.product(),
    "product with an empty pool": lambda: itertools.product([1], []),
    "product repeat=0": lambda: itertools.product([1], repeat=0),
    "combinations": lambda: itertools.combinations(range(5), 3),
    "combinations too long": lambda: itertools.combinations([1], 3),
    "combinations of none": lambda: itertools.combinations([1], 0),
    "combinations_with_replacement": lambda: itertools.combinations_with_replacement("abc", 2),
    "combinations_with_replacement of nothing": lambda: itertools.combinations_with_replacement("", 2),
    "combinations_with_replacement of none": lambda: itertools.combinations_with_replacement("", 0),
    "permutations": lambda: itertools.permutations("abcd"),
    "permutations of two": lambda: itertools.permutations("abcd", 2),
    "permutations too long": lambda: itertools.permutations("abcd", 5),
    "permutations of nothing": lambda: itertools.permutations("", 0),
    "compress": lambda: itertools.compress("abcdef", [1, 0, 1, 1]),
    "takewhile": lambda: itertools.takewhile(lambda v: v < 3, [1, 2, 5, 1]),
    "dropwhile": lambda: itertools.dropwhile(lambda v: v < 2, [1, 2, 5, 1]),
    "filterfalse None": lambda: itertools.filterfalse(None, [0, 1, 2, 0, 0]),
    "filterfalse": lambda: itertools.filterfalse(lambda v: v > 1, [0, 1, 2, 0, 0]),
    "starmap": lambda: itertools.starmap(pow, [(2, 3), [3, 2]]),
    "pairwise": lambda: itertools.pairwise([1, 2, 3, 4]),
    "pairwise of one": lambda: itertools.pairwise([1]),
    "zip_longest": lambda: itertools.zip_longest([1, 2, 3], [4], "ab", fillvalue="-"),
    "zip_longest of nothing": lambda: itertools.zip_longest(),
    "zip_longest None": lambda: itertools.zip_longest([1], [2, 3]),
    "chain.from_iterable": lambda: itertools.chain.from_iterable([[1, 2], (3,), []]),
    "chain": lambda: itertools.chain([1, 2], (3,), []),
    "cycle": lambda: itertools.islice(itertools.cycle([1, 2, 3]), 7),
    "count": lambda: itertools.islice(itertools.count(2, 3), 7),
    "accumulate": lambda: itertools.accumulate([1, 2, 3]),
    "accumulate initial": lambda: itertools.accumulate([1, 2, 3], operator.mul, initial=5),
    "repeat": lambda: itertools.repeat(3, 4),
    "islice": lambda: itertools.islice(range(20), 2, 13, 4),
    "tee": lambda: itertools.tee([1, 2, 3])[1],
    "zip strict": lambda: zip([1, 2], [3, 4], strict=True),
    "iter with a sentinel": lambda: iter([1, 2, 3, 4].pop, 2),
    "reversed list": lambda: reversed([1, 2, 3]),
    "reversed tuple": lambda: reversed((1, 2, 3)),
    "reversed str": lambda: reversed("abc"),
    "reversed dict": lambda: reversed({1: 2, 3: 4}),
    "reversed items": lambda: reversed({1: 2, 3: 4}.items()),
    "reversed deque": lambda: reversed(collections.deque([1, 2, 3])),
    "reversed range": lambda: reversed(range(4)),
}


def whole(make, x):
    return x + 1, list(make())


def in_parts(make, x):
    it = make()
    first, second = next(it, "none"), next(it, "none")
    return x + 1, first, second, list(it), next(it, "end")


def fresh(make, x):
    return x + 1, make()


def begun(make, x):
    it = make()
    first = next(it, "none")
    return x + 1, first, it, it


def twice_begun(make, x):
    it = make()
    return x + 1, next(it, 0), next(it, 0), it


def exhausted(make, x):
    it = make()
    values = list(it)
    return x + 1, values, it


def kinds(make, x):
    it = make()
    return x + 1, type(it).__name__, isinstance(it, collections.abc.Iterator), iter(it) is it, hasattr(it, "missing")


@pytest.mark.parametrize("use", [whole, in_parts, fresh, begun, twice_begun, exhausted, kinds])
@pytest.mark.parametrize("name", ITERATORS)
def test_iterator(name, use):
    make = ITERATORS[name]
    check(lambda x: use(make, x))


def noted(seen, count=5):
    for i in range(count):
        seen.append(i)
        yield i


def tee_reads_its_source_once(x):
    seen = []
    a, b, c = itertools.tee(noted(seen), 3)
    drawn = [next(a), next(a), next(b)]
    d = copy.copy(b)
    return x + 1, drawn, list(b), list(c), list(a), list(d), seen


def tee_handed_on(x):
    a, b = itertools.tee([1, 2, 3])
    next(a)
    return x + 1, a, b


def from_iterable_is_lazy(x):
    seen = []
    lists = map(lambda k: (seen.append(("map", k)), noted(seen, k))[1], [2, 1])
    for v in itertools.chain.from_iterable(lists):
        seen.append(("value", v))
    return x + 1, seen


def sources_are_asked_when_a_value_is(x):
    seen = []
    for v in itertools.zip_longest(noted(seen, 2), noted(seen, 3)):
        seen.append(v)
    for v in itertools.takewhile(lambda v: seen.append(("test", v)) or v < 2, noted(seen)):
        seen.append(v)
    for v in itertools.pairwise(noted(seen)):
        seen.append(v)
    for v in itertools.compress(noted(seen), noted(seen, 3)):
        seen.append(v)
    seen.append(functools.reduce(lambda a, b: seen.append((a, b)) or a + b, noted(seen)))
    seen.append(max(noted(seen), key=lambda v: seen.append(("key", v)) or -v))
    return x + 1, seen


def a_cache_counts(x):
    seen = []

    @functools.lru_cache(maxsize=2)
    def f(a, b=0):
        seen.append(a)
        return a + b

    values = [f(1), f(2), f(1), f(3), f(2), f(1, b=2), f(1, b=2)]
    return x + 1, values, seen, f.cache_info(), f.cache_parameters(), f.__name__, f.__wrapped__(5)


def a_cache_of_a_recursion(x):
    @functools.cache
    def fibonacci(n):
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    return x + fibonacci(20), fibonacci.cache_info().hits


def a_typed_cache(x):
    @functools.lru_cache(typed=True)
    def f(a):
        return type(a).__name__

    return x + 1, f(1), f(1.0), f(True), f("a"), f.cache_info()


def a_cache_by_equality(x):
    @functools.lru_cache
    def f(a):
        return type(a).__name__

    found = f(1), f(1.0), f(True), f("a"), f(a=1)
    f.cache_clear()
    return x + 1, found, f.cache_info()


def comparison_keys(x):
    key = functools.cmp_to_key(lambda a, b: b - a)
    return x + 1, min([3, 1, 2], key=key), key(1) < key(2), key(1) == key(1), key(5).obj


first, parts, split = (
    operator.itemgetter(0),
    operator.attrgetter("real", "imag"),
    operator.methodcaller("split", ",", 1),
)


def getters_from_outside(x):
    return x + first([1, 2]), parts(2j), split("a,b,c"), first


def getters_made_here(x):
    f, g = operator.itemgetter(1), operator.itemgetter(0, -1)
    return x + f([1, 2]), g("abc"), operator.itemgetter(slice(1, 2))([1, 2, 3]), type(f).__name__


def getters_handed_on(x):
    return x + 1, operator.itemgetter(1, 2), operator.attrgetter("a.b"), operator.methodcaller("f", 1, k=2)


def operators_of_tensors(x):
    o = operator
    return o.iadd(x.clone(), 1), o.pow(x, 2), o.itemgetter(0)(x), o.ifloordiv(x.clone(), 2), o.lshift(x.int(), 1)


def a_list_changes_under_a_walk_backward(x):
    values = [1, 2, 3]
    seen = []
    for v in reversed(values):
        seen.append(v)
        if len(values) > 1:
            values.pop()
    return x + 1, seen, values


def namespaces(x):
    n = types.SimpleNamespace(a=x, b=2)
    n.c = n.a + 1
    del n.b
    return n, n.c, hasattr(n, "b"), n == types.SimpleNamespace(a=1)


PROGRAMS = [
    tee_reads_its_source_once,
    tee_handed_on,
    from_iterable_is_lazy,
    sources_are_asked_when_a_value_is,
    a_cache_counts,
    a_cache_of_a_recursion,
    a_typed_cache,
    a_cache_by_equality,
    comparison_keys,
    getters_from_outside,
    getters_made_here,
    getters_handed_on,
    operators_of_tensors,
    a_list_changes_under_a_walk_backward,
    namespaces,
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_program(program):
    check(program)


BAD_CALLS = [
    (itertools.product, (5,), {}),
    (itertools.product, ([1],), {"repeat": -1}),
    (itertools.product, ([1],), {"foo": 1}),
    (itertools.product, ([1],), {"repeat": 1.5}),
    (itertools.combinations, ([1],), {}),
    (itertools.combinations, ([1], -1), {}),
    (itertools.combinations, ([1], "a"), {}),
    (itertools.permutations, ([1], 2.5), {}),
    (itertools.permutations, (), {}),
    (itertools.starmap, (3,), {}),
    (itertools.starmap, (3, 4), {}),
    (itertools.pairwise, (3,), {}),
    (itertools.zip_longest, ([3],), {"foo": 1}),
    (itertools.tee, ([3], -1), {}),
    (itertools.tee, ([3], "a"), {}),
    (itertools.chain.from_iterable, (), {}),
    (itertools.chain.from_iterable, (3,), {}),
    (itertools.compress, ([1],), {}),
    (iter, (3, 4), {}),
    (iter, (), {}),
    (iter, (1, 2, 3), {}),
    (operator.itemgetter, (), {}),
    (operator.attrgetter, (3,), {}),
    (operator.methodcaller, (), {}),
    (operator.methodcaller, (3,), {}),
    (operator.add, (1,), {}),
    (operator.concat, (1, 2), {}),
    (operator.indexOf, ([1], 2), {}),
    (operator.countOf, ([1],), {}),
    (functools.reduce, (operator.add, []), {}),
    (functools.reduce, (operator.add,), {}),
    (functools.lru_cache, ("a",), {}),
    (functools.cmp_to_key, (), {}),
    (functools.partial, (), {}),
]


@pytest.mark.parametrize(("function", "args", "keywords"), BAD_CALLS)
def test_refusal(function, args, keywords):
    def program(x):
        try:
            return x + 1, function(*args, **keywords)
        except Exception as e:  # noqa: BLE001  its type and text are compared
            return x + 2, type(e).__name__, str(e)

    check(program)
