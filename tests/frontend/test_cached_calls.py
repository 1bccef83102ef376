"""functools.lru_cache: hits give the very object, misses are computed, both are counted as in plain Python."""

import functools
import gc
import weakref

import pytest

import minidynamo as torch
from frontend.differential import codes
from minidynamo._dynamo.testing import CompileCounter

X = torch.ones(2)
NAN = float("nan")
PLAIN = "GB0147"  # the code of calls that stay outside


def compare(make, calls, *, frames=None, breaks=(), reason="", **options):
    """`make()` gives a function and what tells its caches' state; each call's result and the state after it agree.
    reason: what the explanation of every break says.
    """
    seen = []
    for compiled in (False, True):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        counter = CompileCounter()
        f, state = make()
        call = torch.compile(f, backend=counter, **options) if compiled else f
        rows = []
        for args in calls:
            try:
                result = call(*args)
            except Exception as error:  # noqa: BLE001  whatever the program raises is its behaviour
                result = (type(error), str(error))
            rows.append((repr(result), repr(state())))
        seen.append(rows)
    assert seen[0] == seen[1]
    assert codes() == set(breaks)
    assert all(reason in text for text in torch._dynamo.utils.counters["graph_break"])
    if frames is not None:
        assert counter.frame_count == frames


def test_the_first_call_computes_and_the_next_finds():
    def make():
        @functools.lru_cache
        def doubled(n):
            return n * 2

        return (lambda x: x * doubled(3)), doubled.cache_info

    compare(make, [(X,)] * 4, frames=2, fullgraph=True)


def test_recursion_finds_what_it_has_entered():
    def make():
        @functools.cache
        def fib(n):
            return n if n < 2 else fib(n - 1) + fib(n - 2)

        return (lambda x: x + fib(20)), fib.cache_info

    compare(make, [(X,)] * 3, frames=2, fullgraph=True)


def test_a_hit_is_the_very_object():
    def make():
        @functools.lru_cache
        def table(n):
            return torch.arange(n).float()

        def f(x):
            t = table(2)
            return x + t, t is table(2), t

        return (lambda x: f(x)), lambda: (table.cache_info().misses, f(X)[2] is table(2))

    compare(make, [(X,)] * 4, frames=2, fullgraph=True)


def test_results_that_change_are_seen_changed():
    def make():
        @functools.lru_cache
        def kept(n):
            return [n]

        def f(x):
            kept(1).append(5)
            return x + len(kept(1))

        return f, lambda: (kept(1), kept.cache_info())

    compare(make, [(X,)] * 4, frames=4, fullgraph=True)  # the length is a constant of each graph


def test_keys_are_as_written_and_as_typed():
    def make():
        @functools.lru_cache(typed=True)
        def kind(v, w=2):
            return type(v).__name__

        def f(x):
            return x + 1, kind(1), kind(1.0), kind(True), kind(1, 2), kind(1, w=2), kind(v=1), kind(w=2, v=1), kind("1")

        return f, kind.cache_info

    compare(make, [(X,)] * 3, frames=2, fullgraph=True)


def test_equal_keys_of_other_types_share_a_result():
    def make():
        @functools.lru_cache
        def pair(a, b):
            return [type(a).__name__]

        return (lambda x: (x + 1, pair(1, 2), pair(1.0, 2), pair(True, 2.0))), pair.cache_info

    compare(make, [(X,)] * 3, fullgraph=True)


def test_a_dtype_is_a_key():
    def make():
        @functools.lru_cache
        def zeros(dtype):
            return torch.zeros(2, dtype=dtype)

        return (lambda x: x + zeros(x.dtype)), zeros.cache_info

    compare(make, [(X,)] * 3 + [(X.double(),)] * 3, fullgraph=True)


def test_full_caches():
    def make(limit, keys):
        @functools.lru_cache(maxsize=limit)
        def one(n):
            return (n,)

        def f(x):
            for k in keys:
                x = x + one(k)[0]
            return x

        return f, one.cache_info

    compare(lambda: make(2, (1, 2, 1)), [(X,)] * 3, frames=2, fullgraph=True)
    compare(lambda: make(0, (1, 1)), [(X,)] * 3, frames=1, fullgraph=True)
    compare(lambda: make(2, (1, 2, 3, 1)), [(X,)] * 3, breaks=[PLAIN], reason="more results than the cache keeps")
    compare(lambda: make(-5, (1, 1)), [(X,)] * 2, frames=1, fullgraph=True)


def test_a_result_that_may_have_been_let_go():
    def make():
        @functools.lru_cache(maxsize=2)
        def one(n):
            return (n,)

        def f(x, a, b):
            return x + one(a)[0] + one(b)[0]

        return f, one.cache_info

    calls = [(X, 1, 2), (X, 1, 2), (X, 3, 1), (X, 3, 1), (X, 1, 2)]
    compare(make, calls, breaks=[PLAIN], reason="result that the cache may have let go", dynamic=False)
    # By default an argument that varies becomes a symbol, which is no key.
    compare(make, calls, breaks=[PLAIN], reason="an argument that is no constant")


def test_exceptions_count_as_misses():
    def make():
        @functools.lru_cache
        def fails(n):
            raise ValueError(n)

        def f(x):
            try:
                fails(3)
            except ValueError as error:
                x = x + error.args[0]
            return x

        return f, fails.cache_info

    compare(make, [(X,)] * 3, frames=1, fullgraph=True)


def test_effects_take_place_once():
    def make():
        log = []

        @functools.lru_cache
        def noted(n):
            log.append(n)
            return n

        return (lambda x: (x + noted(1) + noted(1), list(log))), lambda: (noted.cache_info(), list(log))

    compare(make, [(X,)] * 3, frames=2, fullgraph=True)


def test_clearing_makes_it_compute_again():
    def make():
        @functools.lru_cache
        def doubled(n):
            return n * 2

        def f(x, clear):
            if clear:
                doubled.cache_clear()
            return x * doubled(1), doubled.cache_info()

        return f, doubled.cache_info

    compare(make, [(X, False)] * 3 + [(X, True)] * 2 + [(X, False)] * 2, breaks=["GB0156"])


def test_arguments_that_are_no_constants_stay_outside():
    def make(argument):
        @functools.lru_cache
        def given(v):
            return 3

        return (lambda x: x * given(argument(x))), given.cache_info

    compare(lambda: make(lambda x: [1]), [(X,)] * 2, breaks=["GB0088"])  # it cannot be hashed
    compare(lambda: make(lambda x: x), [(X,)] * 2, breaks=[PLAIN])
    compare(lambda: make(lambda x: NAN), [(X,)] * 3, breaks=[PLAIN])
    compare(lambda: make(lambda x: x.shape[0]), [(torch.ones(n),) for n in (2, 2, 3, 3, 4, 5)], breaks=[PLAIN])


def test_new_tensors_and_objects_are_looked_for_by_what_they_are():
    class Thing:
        pass

    def make(argument):
        @functools.lru_cache
        def given(v):
            return 3

        return (lambda x: x * given(argument(x)) + given(argument(x))), given.cache_info

    kept = Thing()
    compare(lambda: make(lambda x: x + 1), [(X,)] * 2, fullgraph=True)
    compare(lambda: make(lambda x: kept), [(X,)] * 3, fullgraph=True)


def test_calls_of_the_function_below_leave_the_cache_alone():
    def make():
        @functools.lru_cache
        def doubled(n):
            return n * 2

        return (lambda x: x * doubled.__wrapped__(3)), doubled.cache_info

    compare(make, [(X,)] * 2, frames=1, fullgraph=True)


@pytest.mark.parametrize("maxsize", [None, 8])
def test_what_was_cached_can_die(maxsize):
    class Part:
        pass

    @functools.lru_cache(maxsize=maxsize)
    def part(n):
        return Part()

    counter = CompileCounter()
    f = torch.compile(lambda x: (x + 1, part(1))[0], backend=counter, fullgraph=True)
    for _ in range(3):
        f(X)
    assert counter.frame_count == 2
    alive = weakref.ref(part(1))
    part.cache_clear()
    gc.collect()
    assert alive() is None
