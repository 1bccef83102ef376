"""What the user is told of recompilations."""

import enum
import logging
import re
from collections import deque

import pytest

import minidynamo as torch
from frontend.executed import Executed
from minidynamo._dynamo import config
from minidynamo._dynamo.utils import clear_compilation_metrics, get_compilation_metrics

G = 1


@pytest.fixture(autouse=True)
def clean():
    torch._dynamo.reset()
    clear_compilation_metrics()


def last_reason():
    return get_compilation_metrics()[-1].recompile_reason


def reason_of(f, *calls, **options):
    """The reason of the only recompilation, which the last call makes."""
    compiled = torch.compile(f, backend="eager", **options)
    for args in calls:
        compiled(*args)
    made = get_compilation_metrics()
    assert [m.recompile_reason is None for m in made] == [True, False]
    return made[1].recompile_reason


def test_a_compilation_is_recorded():
    def f(x):
        return x + 1

    torch.compile(f, backend="eager")(torch.ones(2))
    (made,) = get_compilation_metrics()
    assert made.compile_id == "0/0" and made.cache_size == 0 and made.recompile_reason is None
    assert made.co_name == "f" and made.co_filename == __file__ and made.co_firstlineno == f.__code__.co_firstlineno
    assert 0 < made.entire_frame_compile_time_s < 60
    clear_compilation_metrics()
    assert get_compilation_metrics() == []


def test_reason_with_values_stack_time_and_way_out():
    def f(x):
        return x * 2

    def caller(x):
        return compiled(x)

    compiled = torch.compile(f, backend="eager")
    for n in (3, 5):
        caller(torch.ones(n))
    first, second = get_compilation_metrics()
    assert (first.compile_id, second.compile_id, second.cache_size) == ("0/0", "0/1", 1)
    reason = second.recompile_reason
    assert reason.guard == "tensor 'x' size mismatch at index 0. expected 3, actual 5"
    assert (reason.kind, reason.source, reason.place) == ("TENSOR_MATCH", "L['x']", "x.size(0)")
    assert (reason.old, reason.new) == ("3", "5")
    assert "mark_dynamic(x, 0)" in reason.hint
    assert reason.stack[-1][::2] == (__file__, "caller")
    assert reason.stack[-1][1] == caller.__code__.co_firstlineno + 1
    assert second.entire_frame_compile_time_s > 0


class Thing:
    def __init__(self, value):
        self.value = value


class Relative(Thing):
    pass


def f_plus(x, n):
    return x + n


def f_value(x, t):
    return x * t.value


def f_length(x, parts):
    return x + len(parts)


def f_none(x, y):
    return x + 2 if y is None else x + 1


def f_call(x, g):
    return g(x)


def f_key(x, d):
    return x + 1 if "k" in d else x + 2


def f_both(x, y):
    return x + y


class Letter(enum.Enum):
    P = 1
    Q = 2


def f_shift(x, e):
    return x + (1 if e is Letter.P else 2)


def f_inner(x, t):
    return x + t.value["a"]


def f_set(x, s):
    return x + sum(s)


def f_member(x, s):
    return x + (1 if 3 in s else 2)


def f_keywords(x, k):
    return x + sum(k.values())


def f_maxlen(x, d):
    return x + d.maxlen


def f_loop(x, r):
    return x + sum(r)


def f_index(x, s):
    return x[s]


def f_real(x, n):
    return x + n.real


def f_even(x):
    return x + 1 if x.shape[0] % 2 else x - 1


def f_mod(x, n):
    return x + n % 7


NAN = float("nan")
ONE = torch.ones(2)
TEN = torch.ones(10)
REASONS = [
    (f_plus, [(ONE, 2), (ONE, 3)], {"dynamic": False}, ("n", "2", "3", "dynamic=True")),
    (f_plus, [(ONE, 2), (ONE, 3)], {}, ("n", "2", "3", "symbol")),
    (f_plus, [(ONE, 2), (ONE, 2.5)], {}, ("n", "2", "2.5", "tensor")),
    (f_plus, [(ONE, 1.5), (ONE, 2.5)], {}, ("n", "1.5", "2.5", "tensor")),
    (f_plus, [(ONE, True), (ONE, False)], {}, ("n", "True", "False", "two codes")),
    (f_plus, [(ONE, 2), (ONE.double(), 2)], {}, ("x.dtype", "torch.float32", "torch.float64", "dtype")),
    (f_plus, [(ONE, 2), (torch.ones(2, 2), 2)], {}, ("x.dim()", "1", "2", "dimensions")),
    (f_plus, [(torch.ones(3, 3), 2), (torch.ones(3, 3).T, 2)], {}, ("x.stride(0)", "3", "1", "contiguous")),
    (f_plus, [(torch.ones(3), 2), (torch.ones(4), 2)], {"dynamic": False}, ("x.size(0)", "3", "4", "dynamic=True")),
    (f_plus, [(torch.ones(3), 2), (torch.ones(1), 2)], {}, ("x.size(0)", "3", "1", "0 and 1")),
    (f_plus, [(ONE, 2), (torch.ones(2, requires_grad=True), 2)], {}, ("x.requires_grad", "False", "True", "detach")),
    (f_value, [(ONE, Thing(2)), (ONE, Thing(3))], {}, ("t.value", "2", "3", "symbol")),
    (f_value, [(ONE, Thing(2)), (ONE, Relative(2))], {}, ("t", "class Thing", "class Relative", "one class")),
    (f_length, [(ONE, [1]), (ONE, [1, 2])], {}, ("parts", "length 1", "length 2", "one length")),
    (f_none, [(ONE, None), (ONE, 3)], {}, ("y", "None", "3", "two codes")),
    (f_call, [(ONE, torch.sin), (ONE, torch.cos)], {}, ("g", None, None, "one object")),
    (f_key, [(ONE, {"k": 1}), (ONE, {})], {}, ("d", "with key 'k'", "without key 'k'", "every call")),
    (f_mod, [(ONE, 10**30), (ONE, 10**31)], {}, ("n", str(10**30), str(10**31), "more than 64 bits")),
    (f_real, [(ONE, 1j), (ONE, 2j)], {}, ("n", "1j", "2j", "complex")),
    (f_plus, [(ONE, NAN), (ONE, 1.5)], {}, ("n", "nan", "1.5", "becomes an input")),
    (f_inner, [(ONE, Thing({"a": 2})), (ONE, Thing({"a": 3}))], {}, ("t.value['a']", "2", "3", "symbol")),
    (f_index, [(TEN, slice(2)), (TEN, slice(3))], {}, ("s.stop", "2", "3", "symbol")),
    (f_loop, [(ONE, range(2)), (ONE, range(3))], {}, ("r.stop", "2", "3", "a range")),
    (f_shift, [(ONE, Letter.P), (ONE, Letter.Q)], {}, ("e", "Letter.P", "Letter.Q", "few variants")),
    (f_set, [(ONE, {1, 2}), (ONE, {1, 3})], {}, ("s", "{1, 2}", "{1, 3}", None)),
    (f_keywords, [(ONE, {"a": 1}), (ONE, {"b": 1})], {}, ("k", "keys ['a']", "keys ['b']", "same keys")),
    (f_maxlen, [(ONE, deque([1], 3)), (ONE, deque([1], 4))], {}, ("d", "maxlen 3", "maxlen 4", None)),
    (f_even, [(torch.ones(3),), (torch.ones(4),)], {"dynamic": True},
     ("x.size()[0]", "(x.size()[0] % 2) != 0", "4", None)),
    (f_both, [(torch.ones(2), torch.ones(2)), (ONE, ONE)], {}, (None, "", "", "share")),
]  # fmt: skip


@pytest.mark.parametrize("f, calls, options, expected", REASONS, ids=lambda v: getattr(v, "__name__", None))
def test_reasons(f, calls, options, expected):
    reason = reason_of(f, *calls, **options)
    place, old, new, way_out = expected
    assert place is None or reason.place == place
    assert old is None or (reason.old, reason.new) == (old, new)
    assert way_out is None or way_out in reason.hint
    assert reason.guard


def test_reason_of_a_global_and_of_ambient_state():
    global G
    compiled = torch.compile(lambda x: x + G, backend="eager")
    G = 1
    compiled(ONE)
    G = 2
    compiled(ONE)
    assert (last_reason().old, last_reason().new) == ("1", "2") and "argument" in last_reason().hint
    with torch.no_grad():
        compiled(ONE)
    assert last_reason().guard == "GLOBAL_STATE changed: grad_mode " and "grad mode" in last_reason().hint
    assert (last_reason().place, last_reason().old) == ("global state", "grad_mode=True")
    assert last_reason().new == "grad_mode=False"


def test_a_global_tensor_is_named_as_the_program_names_it():
    global G
    compiled = torch.compile(lambda x: x + G.sum(), backend="eager")
    for G in (torch.ones(2), torch.ones(3)):  # noqa: B007  the function reads it
        compiled(ONE)
    assert last_reason().place == "G.size(0)" and "mark_dynamic(G, 0)" in last_reason().hint


def test_a_number_of_a_module_and_a_replaced_function():
    modules = [torch.nn.Identity(), torch.nn.Identity()]
    for k, module in enumerate(modules, 2):
        module.k = k
    reason = reason_of(lambda x, m: x + m.k, *[(ONE, module) for module in modules])
    assert (reason.old, reason.new) == ("2", "3") and "attribute of a module" in reason.hint

    def inner(x):
        return x + 1

    def other(x):
        return x + 2

    clear_compilation_metrics()
    reason = reason_of(f_call, (ONE, inner), (ONE, other))
    assert "inner" in reason.old and "other" in reason.new and "code of" in reason.old


def test_marks():
    marked = torch.ones(2, 2)
    torch._dynamo.mark_dynamic(marked, 0)
    reason = reason_of(f_even, (torch.ones(2, 2),), (marked,))
    assert (reason.place, reason.old, reason.new) == ("x", "without marks", "marked dynamic in {0}")
    assert "first call" in reason.hint


def test_reason_of_something_absent():
    def f(x, t):
        return x + t.value if hasattr(t, "value") else x + 5

    bare = Thing(1)
    del bare.value
    reason = reason_of(f, (ONE, Thing(1)), (ONE, bare))
    assert reason.place.startswith("t") and "every call" in reason.hint


def test_a_condition_on_sizes():
    def f(x):
        return x + 1 if x.shape[0] > 5 else x - 1

    compiled = torch.compile(f, backend="eager", dynamic=True)
    compiled(torch.ones(3))
    compiled(torch.ones(9))
    assert "size()[0]" in last_reason().guard


def test_only_the_last_ones_are_kept():
    with config.patch(recompile_limit=1000, accumulated_recompile_limit=1000):
        compiled = torch.compile(lambda x, n: x + n, backend="eager", dynamic=False)
        for n in range(70):
            compiled(ONE, n)
    kept = get_compilation_metrics()
    assert [m.cache_size for m in kept] == list(range(6, 70))


@pytest.mark.parametrize("artifact", ["recompiles", "recompiles_verbose"])
def test_the_log_tells_it_after_the_reference_lines(artifact):
    texts = []

    class Collects(logging.Handler):
        def emit(self, record):
            texts.append(record.getMessage())

    def caller(name):
        return compiled(ONE, name)

    log = torch._logging.get_artifact_logger(artifact)
    handler = Collects(logging.DEBUG)
    torch._logging.set_logs(**{artifact: True})
    log.addHandler(handler)
    try:
        compiled = torch.compile(lambda x, name: x * len(name), backend="eager")
        caller("short")
        caller("long" * 100)
    finally:
        log.removeHandler(handler)
        torch._logging.set_logs()
    before, after = texts
    assert before.startswith("Recompiling function <lambda> in ") and "0/0: name == 'short'" in before
    lines = after.split("\n")
    assert re.fullmatch(r"Recompiled function <lambda> in .*:\d+ in \d+\.\d\d ms", lines[0])
    assert lines[1].startswith("    what changed: name was 'short', now 'longlong") and lines[1].endswith("...")
    assert lines[2].startswith("    way out: ") and lines[3] == "    called from:"
    assert lines[-2].endswith("in caller") and lines[-1].strip() == "return compiled(ONE, name)"


def test_error_on_recompile_names_the_guard_and_makes_nothing():
    backend = Executed()
    compiled = torch.compile(f_plus, backend=backend, dynamic=False)
    compiled(ONE, 2)
    with config.patch(error_on_recompile=True):
        with pytest.raises(torch._dynamo.exc.RecompileError, match="- 0/0: n == 2"):
            compiled(ONE, 3)
        compiled(ONE, 2)
    assert (backend.graphs, backend.calls) == (1, 2)


def summed(x, many):
    for y in many:
        x = x + y
    return x


def test_reasons_of_many_places_are_short():
    buffer = torch.ones(200)
    views = [buffer[k : k + 2] for k in range(0, 200, 2)]
    reason = reason_of(summed, (torch.ones(2), [v.clone() for v in views]), (torch.ones(2), views)).guard
    assert "check_no_aliasing(x, many[0], many[1]," in reason and reason.endswith("... 84 more)")


def test_many_tensors_that_share_memory():
    """Views of one buffer, in the places they had; each other arrangement is one of its own."""
    compiled = torch.compile(summed, backend="eager")

    def count(many):
        assert torch.equal(compiled(torch.ones(2), many), summed(torch.ones(2), many))
        return len(get_compilation_metrics())

    for groups in (1, 3):
        buffers = [torch.arange(200.0) for _ in range(groups)]
        views = [buffers[k % groups][2 * k : 2 * k + 2] for k in range(40)]
        before = len(get_compilation_metrics())
        assert count(views) == before + 1
        assert count([v[:] for v in views]) == before + 1
        other = [torch.arange(200.0) for _ in range(groups)]
        assert count([other[k % groups][2 * k : 2 * k + 2] for k in range(40)]) == before + 1
        assert count([*views[:7], views[8], views[7], *views[9:]]) == before + 2, "at other places"
    assert count([v.clone() if k == 20 else v for k, v in enumerate(views)]) == before + 3, "one apart"
    assert count(views) == before + 3


def test_inputs_that_come_back_among_many():
    def f(many):
        return [y.float() if k % 3 else y * 2 for k, y in enumerate(many)]

    many = [torch.ones(2) * k for k in range(60)]
    compiled = torch.compile(f)
    for _ in range(3):
        for k, (a, b) in enumerate(zip(f(many), compiled(many), strict=True)):
            assert torch.equal(a, b) and (b is many[k]) == bool(k % 3)
