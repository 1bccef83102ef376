"""Objects die when they would, and nothing takes their place."""

import gc
import sys
import weakref

import pytest

import minidynamo as torch
from guards.changing import agrees
from minidynamo._dynamo.testing import CompileCounter


def x():
    return torch.tensor([1.0, 2.0])


def test_dead_objects_whose_address_is_reused():
    def f(x, o):
        return x * o.v

    def program(call):
        for n in range(30):
            cls = type("Local", (), {"v": n % 3})
            call(f, x(), cls())
            del cls
            gc.collect()

    agrees(program)


def test_dead_functions_whose_address_is_reused():
    def f(x, g):
        return g(x)

    def program(call):
        for n in range(10):
            scope = {}
            exec(f"def g(x):\n    return x * {n % 3}", scope)
            call(f, x(), scope.pop("g"))
            scope.clear()
            gc.collect()

    agrees(program)


def test_finalizers_run_when_they_would():
    log = []

    class Noisy:
        def __init__(self, n):
            self.n = n

        def __del__(self):
            log.append(self.n)

    def f(x, box):
        box[0] = None
        log.append("between")
        return x + 1

    def program(call):
        log.clear()
        for n in range(3):
            call(f, x(), [Noisy(n)])
            log.append("after")
        shown = list(log)
        call(lambda: shown)

    agrees(program)


def test_arguments_are_not_kept_alive():
    class Thing:
        def __init__(self):
            self.v = [1, 2]

    def f(x, o, d):
        o.w = o.v[0]
        d["k"] = o
        return x * o.v[1]

    compiled = torch.compile(f, backend="eager")
    alive = []
    for _ in range(4):
        o = Thing()
        d = {}
        compiled(x(), o, d)
        alive += [weakref.ref(o)]
        del o, d
    gc.collect()
    assert [r() for r in alive] == [None] * 4


def test_entries_leak_nothing():
    """Making and dropping entries leaves every reference count as it was."""
    marker, table, text = object(), {"a": object(), "b": [1]}, f"some text {len(sys.path)}"

    class C:
        things = [marker]

        def m(self, v):
            return v

    o = C()
    o.marker = marker

    def g(v, k=text):
        return v, k

    def f(x, d, s):
        made = C()
        made.own = marker
        d["a"], made.m(3), g(1)
        return x + 1, d, o.marker, made, s, made.things

    def counts():
        gc.collect()
        return [sys.getrefcount(v) for v in (marker, table, table["a"], text, C, o, C.m, g, C.things, None.__class__)]

    def once():
        torch._dynamo.reset()
        compiled = torch.compile(f, backend="eager")
        for s in (text, text + "x", 3, 3.5):
            compiled(x(), table, s)
        torch._dynamo.reset()
        del compiled

    for _ in range(3):
        once()
    before = counts()
    for _ in range(20):
        once()
    assert counts() == before


def returned(d, a):
    for key, value in d.items():
        return a + value, key


def of_a_key(d, a):
    key = next(iter(d))
    return a + 1, key.tag


def over_a_break(d, a):
    key = next(iter(d))
    a = a + 1
    print("break")
    key.seen = True
    return a * 2


@pytest.mark.parametrize("more", [False, True])
@pytest.mark.parametrize("function", [returned, of_a_key, over_a_break])
def test_keys_that_an_entry_hands_on_are_not_kept_alive(function, more):
    class Key:
        def __init__(self):
            self.tag = ["tag"]
            self.cycle = self

    def run(compiled):
        keys = [Key(), Key()]
        dies = [weakref.ref(key) for key in keys]
        d = {key: n for n, key in enumerate(keys)}
        found = [compiled(d, torch.ones(2)) for _ in range(3)]
        places = [(keys.index(v) if v in keys else v) for result in found for v in result if type(v) in (Key, list)]
        same_tag = [result[1] is keys[0].tag for result in found if function is of_a_key]
        seen = [vars(key).get("seen") for key in keys]
        del keys, d, found
        gc.collect()
        return places, same_tag, seen, [r() for r in dies]

    with torch._dynamo.config.patch(trace_more=more):
        torch._dynamo.reset()
        compiled = torch.compile(function, backend="eager")
        for _ in range(2):
            expected = run(function)
            assert expected[-1] == [None, None]
            assert run(compiled) == expected


def test_objects_that_die_before_the_next_call(caplog):
    """Code for them is of no use: after some calls little more is made, and a warning says so, once."""
    counter = CompileCounter()
    compiled = torch.compile(lambda x, made: x if callable(made) else x * 2, backend=counter)
    torch._dynamo.reset()
    for k in range(2000):  # code objects, which are told by identity
        assert compiled(x(), compile("0", str(k), "eval")).tolist() == [2.0, 4.0]
    assert 200 < counter.frame_count < 300
    said = [r.getMessage() for r in caplog.records if "no longer existed" in r.getMessage()]
    assert len(said) == 1 and "test_lifetime.py" in said[0] and "Way out: make the object once" in said[0]
    counter.frame_count = 0
    kept = compile("0", "kept", "eval")
    for _ in range(3000):  # the next look comes after as many calls again
        assert compiled(x(), kept).tolist() == [2.0, 4.0]
    assert counter.frame_count == 1


def test_every_call_is_compiled_with_fullgraph():
    counter = CompileCounter()

    def f(x, made):
        return x if callable(made) else x + 1

    compiled = torch.compile(f, backend=counter, fullgraph=True)
    for k in range(300):
        assert compiled(x(), compile("0", str(k), "eval")).tolist() == [2.0, 3.0]
    assert counter.frame_count == 300
