"""Raw look-ups that run no user code, and a frame hook that nobody notices."""

import gc
import sys
import threading
import traceback

import pytest
from minidynamo._C import _cpython


class Touchy:
    """Cannot be compared without running this."""

    def __init__(self, value):
        self.value = value

    def __hash__(self):
        return hash(self.value)

    def __eq__(self, other):
        raise AssertionError("compared")


class Plain:
    shared = 1

    def __init__(self):
        self.x = 5
        self.y = 6

    @property
    def computed(self):
        raise AssertionError("called")

    def method(self):
        pass


class Slotted:
    __slots__ = ("filled", "empty")

    def __init__(self):
        self.filled = 3


class WithGetattr(Plain):
    def __getattr__(self, name):
        raise AssertionError("called")


class WithGetattribute(Plain):
    def __getattribute__(self, name):
        raise AssertionError("called")


class Meta(type):
    of_meta = 1


class OfMeta(metaclass=Meta):
    own = 2


class TupleWithDict(tuple):
    pass


def test_find_attr():
    find = _cpython.find_attr
    assert find(Plain(), "x") == ("instance", 5)
    assert find(Plain(), "shared") == ("type", 1)
    assert find(Plain(), "computed") == ("data_descriptor", Plain.__dict__["computed"])
    assert find(Plain(), "method") == ("type", Plain.method)
    assert find(Plain(), "nothing") == ("missing", None)
    assert find(Slotted(), "filled") == ("slot", 3)
    assert find(Slotted(), "empty") == ("missing", None)
    assert find(WithGetattr(), "nothing") == ("missing", None)
    assert find(WithGetattr(), "x") == ("instance", 5)
    assert find(WithGetattribute(), "x") == ("undecidable", None)
    assert find(sys, "path") == ("instance", sys.path)
    assert find(Plain, "shared") == ("class_mro", 1)
    assert find(OfMeta, "own") == ("class_mro", 2)
    assert find(OfMeta, "of_meta") == ("type", 1)
    assert find(Plain, "mro")[0] == "type"


def test_instance_storage_in_every_form():
    find = _cpython.instance_find
    fresh, opened, replaced, crowded = Plain(), Plain(), Plain(), Plain()
    assert find(fresh, "y") == ("found", 6)
    assert find(fresh, "shared") == ("missing", None)
    opened.__dict__["z"] = 7
    opened.w = 8
    assert [find(opened, name)[1] for name in "xyzw"] == [5, 6, 7, 8]
    replaced.__dict__ = {"x": 9}
    assert find(replaced, "x") == ("found", 9)
    assert find(replaced, "y") == ("missing", None)
    for k in range(100):
        setattr(crowded, f"a{k}", k)
    assert [find(crowded, f"a{k}") for k in range(100)] == [("found", k) for k in range(100)]
    del crowded.x
    assert find(crowded, "x") == ("missing", None)
    var_sized = TupleWithDict((1, 2, 3))
    assert find(var_sized, "v") == ("missing", None)
    var_sized.v = 4
    assert find(var_sized, "v") == ("found", 4)
    assert find(3, "v") == ("missing", None)


@pytest.mark.parametrize("size", [0, 5, 200, 70_000])
def test_dict_find(size):
    by_int = {k: -k for k in range(size)}
    by_text = {f"k{k}": k for k in range(size)}
    for k in range(0, size, max(1, size // 500)):
        assert _cpython.dict_find(by_int, k) == ("found", -k)
        assert _cpython.dict_find(by_text, f"k{k}") == ("found", k)
    assert _cpython.dict_find(by_int, size + 1) == ("missing", None)
    assert _cpython.dict_find(by_text, "nothing") == ("missing", None)
    assert _cpython.dict_find(by_text, 5) == ("missing", None)


def test_dict_find_runs_no_user_code():
    mixed = {Touchy("a"): 1, "b": 2, (1, "t"): 3, 4: 5}
    assert _cpython.dict_find(mixed, "a") == ("undecidable", None)
    assert _cpython.dict_find(mixed, "b") == ("found", 2)
    assert _cpython.dict_find(mixed, (1, "t")) == ("found", 3)
    assert _cpython.dict_find(mixed, 4.0) == ("found", 5)
    holes = {k: k for k in range(50)}
    for k in range(49):
        del holes[k]
    assert _cpython.dict_find(holes, 3) == ("missing", None)
    assert _cpython.dict_find(holes, 49) == ("found", 49)


def test_dict_version_changes():
    version = lambda d: _cpython.dict_version(d)[0]  # noqa: E731
    data, seen = {"a": 1}, set()
    for change in (
        lambda: data.update(b=2),
        lambda: data.pop("a"),
        lambda: data.clear(),
        lambda: data.setdefault("c", 1),
    ):
        seen.add(version(data))
        change()
    seen.add(version(data))
    assert len(seen) == 5
    assert _cpython.dict_version(data)[1]
    instance = Plain()
    assert bool(_cpython.dict_version(vars(instance))[1]) == (sys.version_info < (3, 13))


# --- the frame hook


def original(a, b=2, *rest, k=1, **options):
    return "original"


def replacement(a, b, k, rest, options):
    return a, b, k, rest, options


def failing(a, b, k, rest, options):
    raise ValueError(a)


REPLACE = {original.__code__: replacement}


def hooked(function, replacements=REPLACE):
    return _cpython.run_hooked(function, replacements)[0]


def test_layout_is_as_compiled_for():
    assert _cpython.probe_frames() is True


def test_frames_are_replaced():
    assert hooked(lambda: original(1, 2, 3, k=4, z=5)) == (1, 2, 4, (3,), {"z": 5})
    assert hooked(lambda: [original(i) for i in range(3)]) == [(i, 2, 1, (), {}) for i in range(3)]
    assert original(1) == "original"


def test_exceptions_have_one_entry_for_the_replaced_frame():
    def caller():
        original(1)

    with pytest.raises(ValueError) as caught:
        hooked(caller, {original.__code__: failing})
    names = [entry.name for entry in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-2:] == ["caller", "failing"]


def test_references_balance():
    argument = object()
    before = sys.getrefcount(argument)
    for _ in range(200):
        hooked(lambda: original(argument, k=argument))
        with pytest.raises(ValueError):
            hooked(lambda: original(argument), {original.__code__: failing})
    gc.collect()
    assert sys.getrefcount(argument) == before


def test_generators_and_coroutines_are_left_alone():
    def generator(n):
        for i in range(n):
            yield original(i)[0]

    async def coroutine():
        return original(1)[0]

    def run():
        try:
            coroutine().send(None)
        except StopIteration as stop:
            return stop.value

    codes = {generator.__code__: failing, coroutine.__code__: failing, **REPLACE}
    assert hooked(lambda: (list(generator(3)), run()), codes) == ([0, 1, 2], 1)


def test_other_threads_are_left_alone():
    def both():
        results = []
        thread = threading.Thread(target=lambda: results.append(original(1)))
        thread.start()
        thread.join()
        return results, original(1)

    assert hooked(both) == (["original"], (1, 2, 1, (), {}))


def test_trace_and_profile_functions_see_plain_python():
    events = []

    def tracer(frame, event, argument):
        events.append((frame.f_code.co_name, event))
        return tracer

    def run(install):
        install(tracer)
        try:
            return original(1)
        finally:
            install(None)

    # A debugger or coverage tool may be active already.
    for install, now in ((sys.settrace, sys.gettrace()), (sys.setprofile, sys.getprofile())):
        run(install)
        plain = events.copy()
        events.clear()
        assert hooked(lambda install=install: run(install)) == "original"
        assert events == plain
        events.clear()
        install(now)


if sys.version_info >= (3, 12):  # which brought sys.monitoring

    @pytest.mark.parametrize("event", ["LINE", "PY_START", "CALL", "PY_RETURN", "INSTRUCTION"])
    @pytest.mark.parametrize("local", [False, True])
    def test_monitored_code_runs_plainly(event, local):
        monitoring = sys.monitoring
        bit = getattr(monitoring.events, event)
        set_events = lambda bits: (  # noqa: E731
            monitoring.set_local_events(4, original.__code__, bits) if local else monitoring.set_events(4, bits)
        )
        monitoring.use_tool_id(4, "test")
        try:
            monitoring.register_callback(4, bit, lambda *arguments: None)
            set_events(bit)
            assert hooked(lambda: original(1)) == "original"
            set_events(0)
            assert hooked(lambda: original(1)) == (1, 2, 1, (), {})
        finally:
            set_events(0)
            monitoring.free_tool_id(4)


def depth_reached():
    depth = 0

    def deeper():
        nonlocal depth
        depth += 1
        deeper()

    try:
        deeper()
    except RecursionError:
        return depth


def count_down(n):
    return 0 if n == 0 else 1 + count_down(n - 1)


@pytest.mark.parametrize("limit", [1000, 100_000])
def test_recursion_goes_as_deep_as_without(limit):
    before = sys.getrecursionlimit()
    results = []

    def run():
        sys.setrecursionlimit(limit)
        try:
            results.append(depth_reached())
            results.append(hooked(depth_reached, {}))
            results.append(hooked(lambda: count_down(limit * 9 // 10), {}))
        finally:
            sys.setrecursionlimit(before)

    # On a thread: pytest's own frames would count.
    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    plain, armed, counted = results
    assert abs(plain - armed) <= 2
    assert counted == limit * 9 // 10


def test_recursion_through_c_code():
    class Nested:
        def __init__(self, n):
            if n:
                self.child = Nested(n - 1)

    depth = 150
    assert isinstance(hooked(lambda: Nested(depth), {}), Nested)


def test_arguments_of_replaced_frames_die():
    died = []

    class Argument:
        def __del__(self):
            died.append(True)

    def caller():
        result = original(Argument())[1]
        return result, len(died)

    assert hooked(caller) == (2, 1)
