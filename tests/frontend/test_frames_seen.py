"""What a function shows of its own run: the exception being handled around it, its frame, when its objects die."""

import collections.abc
import copy
import functools
import gc
import inspect
import linecache
import sys
import traceback
import types
import weakref

import pytest

import minidynamo as torch
from frontend.differential import same


def one():
    return (torch.ones(2),)


def handling(f):
    """f called while a ZeroDivisionError is being handled."""

    def called(*args):
        try:
            1 / 0  # noqa: B018
        except ZeroDivisionError:
            return f(*args)

    return called


@functools.cache
def compiled(f):
    return torch.compile(f, backend="eager")


def seen_exception(x):
    y = x + 1
    return y, sys.exc_info()[0], sys.exc_info()[1] is None


def test_exc_info_of_a_caller():
    torch._dynamo.reset()
    f = torch.compile(seen_exception, backend="eager")
    for _ in range(2):
        assert f(torch.ones(2))[1:] == (None, True)
        assert handling(f)(torch.ones(2))[1:] == (ZeroDivisionError, False)


def test_exc_info_traced_with_none_handled():
    same(seen_exception, one, frames=1, ops=1, breaks=())


def reraised(x):
    y = x + 1
    try:
        raise  # noqa: PLE0704
    except RuntimeError as error:
        return y, type(error)
    except ZeroDivisionError as error:
        return y, type(error), error.args


def test_reraising_the_exception_of_a_caller():
    torch._dynamo.reset()
    f = torch.compile(reraised, backend="eager")
    for _ in range(2):
        assert f(torch.ones(2))[1:] == (RuntimeError,)
        assert handling(f)(torch.ones(2))[1:] == (ZeroDivisionError, ("division by zero",))


def context_of(x):
    y = x + 1
    try:
        raise KeyError(1)
    except KeyError as error:
        return y, type(error.__context__)


def test_context_from_a_caller():
    torch._dynamo.reset()
    f = torch.compile(context_of, backend="eager")
    for _ in range(2):
        assert f(torch.ones(2))[1] is type(None)
        assert handling(f)(torch.ones(2))[1] is ZeroDivisionError


def test_a_handler_formats_what_it_handles():
    def f(x):
        try:
            return x + {}["a"]
        except KeyError:
            return traceback.format_exc()

    same(f, one)


def own_frame(x):
    y = x + 1
    frame = sys._getframe()
    z = y * 2
    return z, frame.f_code is own_frame.__code__, sorted(frame.f_locals), frame.f_lineno - frame.f_code.co_firstlineno


def current_frame(x):
    frame = inspect.currentframe()
    z = x + 1
    return z, inspect.getargvalues(frame).args, frame is inspect.currentframe()


def callers_frame(x):
    def inner(a):
        back = sys._getframe().f_back
        return sorted(back.f_locals), back.f_code.co_name

    k = 3
    return x + k, inner(2)


def walked_stack(x):
    k = 2
    stack = traceback.StackSummary.extract(traceback.walk_stack(None), capture_locals=True, limit=1)
    return x + k, sorted(stack[0].locals), stack[0].name


def frame_after_a_break(x):
    y = x + 1
    print("break")
    frame = sys._getframe()
    return y, frame.f_code is frame_after_a_break.__code__, inspect.getargvalues(frame).args


def frame_that_is_returned():
    return sys._getframe()


def positions(x):
    frame = frame_that_is_returned()
    return x + 1, frame.f_code is frame_that_is_returned.__code__, list(frame.f_code.co_positions())[0]


def own_frame_only():
    frame = sys._getframe()
    return frame.f_code is own_frame_only.__code__, sorted(frame.f_locals)


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize(
    "f",
    [own_frame, current_frame, callers_frame, walked_stack, frame_after_a_break, positions],
    ids=lambda f: f.__name__,
)
def test_a_frame_that_is_looked_at(f, more):
    with torch._dynamo.config.patch(trace_more=more, force_replace=True):
        same(f, one)
        same(own_frame_only)


def test_globals_of_a_frame_leave_the_rest_compiled():
    def f(x):
        y = x + 1
        name = sys._getframe().f_globals["__name__"]
        return y * 2, name

    same(f, one, frames=2, ops=2)


def test_messages_do_not_fill_the_programs_linecache():
    def f(x):
        print("break")
        return x + 1

    torch._dynamo.reset()
    linecache.clearcache()
    torch.compile(f, backend="eager")(torch.ones(2))
    assert linecache.cache == {}


def test_a_list_in_the_tuple_it_holds():
    def f(x):
        inner = []
        outer = (inner, x + 1)
        inner.append(outer)
        return outer

    same(f, one, breaks=())


def test_deepcopy_of_such_a_tuple():
    def f(x):
        a = ([], 1)
        a[0].append(a)
        b = copy.deepcopy(a)
        return x + 1, b[0][0] is b

    same(f, one)


def test_a_closure_over_itself():
    def f(x):
        def g():
            return g

        return x + 1, g

    torch._dynamo.reset()
    _, g = torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))
    assert g() is g


def test_an_attribute_of_a_tuple_that_holds_the_object():
    class Node:
        pass

    def f(x):
        n = Node()
        pair = (n, x + 1)
        n.pair = pair
        return pair, n

    same(f, one, breaks=())


class Thing:
    pass


def test_a_weak_reference_nobody_reads_again():
    def f(x):
        log = []
        o = Thing()
        keep = weakref.ref(o, lambda r: log.append("died"))  # noqa: F841
        y = x + 1
        gc.collect()
        del o
        gc.collect()
        return y, log

    same(f, one)


def test_a_function_only_a_variable_holds():
    def f(x):
        def g():
            return 1

        r = weakref.ref(g)
        y = x + 1
        gc.collect()
        return y, r() is not None

    same(f, one)


def test_weak_references_are_counted():
    def f(x):
        o = Thing()
        proxy = weakref.proxy(o)  # noqa: F841
        r = weakref.ref(o)  # noqa: F841
        return x + 1, weakref.getweakrefcount(o)

    same(f, one)


@pytest.mark.parametrize("of", [lambda f: f, lambda f: f.__code__])
def test_a_function_dies_when_its_last_variable_is_deleted(of):
    def f(x):
        names = {}
        exec("def g(): pass", names)
        g = names["g"]
        del names
        r = weakref.ref(of(g))
        y = x + 1
        del g
        gc.collect()
        return y, r() is None

    same(f, one)


def test_a_dictionarys_key_is_not_kept():
    def f(x):
        a, b = Thing(), Thing()
        kept = weakref.WeakKeyDictionary()
        kept[a], kept[b] = 1, 2
        other = copy.copy(kept)
        y = x + len(other) + (other == kept)
        del a
        gc.collect()
        return y, len(other), len(kept)

    same(f, one)


def look_up(d, key, x):
    return x + 1, d[key], list(d.values())


def test_a_key_of_an_entry_is_not_kept():
    torch._dynamo.reset()
    f = torch.compile(look_up, backend="eager")
    for _ in range(3):
        a, b = Thing(), Thing()
        r = weakref.ref(b)
        assert f({a: "1", b: "2"}, a, torch.ones(1))[1] == "1"
        del a, b
        gc.collect()
        assert r() is None


class Clears:
    def __init__(self, d):
        self.d = d

    def __del__(self):
        self.d.clear()


def test_what_runs_when_an_entry_is_replaced():
    def f(x):
        d = {}
        d.update({k: Clears(d) for k in range(8)})
        for k in d.items():
            if k[0] == 2:
                d[2] = None
        return x

    same(f, one)


def test_what_runs_when_a_variable_or_attribute_changes():
    def f(x):
        d, n = {1: 2}, Thing()
        o = Clears(d)
        y = x + len(d)
        o = None  # noqa: F841
        y = y + len(d)
        d[1] = 2
        n.held = Clears(d)
        y = y + len(d)
        n.held = 1
        return y + len(d), d

    same(f, one)


def test_a_frozenset_of_a_frozenset_is_itself():
    def f(x):
        s = frozenset([1, 2])
        return x + 1, frozenset(s) is s, frozenset(frozenset()) == frozenset()

    same(f, one, breaks=())


def keyword_capture(**kwargs):
    return kwargs


def test_keywords_of_a_partial_are_its_own():
    made_before = functools.partial(keyword_capture, a=1)

    def f(x, p):
        p.keywords["b"] = 2
        q = functools.partial(keyword_capture, c=1)
        q.keywords["d"] = 3
        return x + 1, p(), q(), p.keywords is p.keywords, q

    same(f, lambda: (torch.ones(2), functools.partial(keyword_capture, a=1)))
    assert made_before.keywords == {"a": 1}


class Proxy:
    def __init__(self, obj):
        self.__obj = obj

    def __getattribute__(self, name):
        if name.startswith("_Proxy__"):
            return object.__getattribute__(self, name)
        return getattr(self.__obj, name)


def test_isinstance_asks_a_proxy():
    def f(x, p, w):
        return x + 1, isinstance(p, Thing), isinstance(w, Thing), isinstance(p, Proxy), isinstance(p, int)

    thing = Thing()
    same(f, lambda: (torch.ones(2), Proxy(thing), weakref.proxy(thing)))


def test_deep_tuples_of_classes():
    def f(x, n):
        classes = (str,)
        for _ in range(n):
            classes = (classes,)
        return x + 1, isinstance("", classes)

    same(f, lambda: (torch.ones(2), 10))
    same(f, lambda: (torch.ones(2), 5000))


def test_a_module_with_its_own_getattribute():
    def f(x, log):
        class Module(types.ModuleType):
            def __init__(self, name):
                types.ModuleType.__init__(self, name)

            def __getattribute__(self, name):
                log.append(name)
                return types.ModuleType.__getattribute__(self, name)

        m = Module("m")
        m.value = 3
        return x + m.value, log

    same(f, lambda: (torch.ones(2), []))


def test_a_sequence_too_long_to_be():
    def f(x, n):
        try:
            return x, [1, 2, 3, 4] * n
        except MemoryError:
            return x + 1

    same(f, lambda: (torch.ones(2), (sys.maxsize * 2 + 2) // 4))


class Counting(dict):
    pass


def test_a_cache_put_in_place_of_singledispatchs():
    cache = Counting()
    original, weakref.WeakKeyDictionary = weakref.WeakKeyDictionary, lambda: cache
    try:
        g = functools.singledispatch(lambda value: "base")
    finally:
        weakref.WeakKeyDictionary = original
    torch._dynamo.reset()
    f = torch.compile(lambda x, v: (x + 1, g(v)), backend="eager")
    assert f(torch.ones(2), {})[1] == "base"
    assert list(cache) == [dict]
    assert isinstance(cache, collections.abc.Mapping)


def test_a_dictionary_compared_by_contents_is_guarded():
    torch._dynamo.reset()
    f = torch.compile(lambda x, d: (x + 1, d == {}, d.get("a"), d == {"a": 1}), backend="eager")
    for d in ({}, {"a": 1}, {"a": 1, "b": 2}, {"b": 1}, {}):
        assert f(torch.ones(2), d)[1:] == (d == {}, d.get("a"), d == {"a": 1})


def test_a_cell_among_the_arguments_is_guarded():
    torch._dynamo.reset()
    f = torch.compile(lambda x, o: (x + 1, isinstance(o, type), o is None), backend="eager")
    for o in (types.CellType(1), int, None, types.CellType(), 3):
        assert f(torch.ones(2), o)[1:] == (isinstance(o, type), o is None)
