"""What decides which kind a thing is, where the opposite answer gives another result or another code: programs that
tell the two apart (tools/mutated_rules.py turns such a decision round)."""

import sys

import pytest

import minidynamo as torch
from frontend.differential import codes, same
from minidynamo._dynamo import config


def one():
    return (torch.ones(2),)


def namespace_in_a_loop(x):
    seen = []
    for _ in range(2):
        here = locals()
        seen.append("kept" in here)
        here["kept"] = True
        x = x + 1
    return x, seen


def namespace_once(x):
    y = x + 1
    return y, sorted(dir())


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="each call of locals() makes a dictionary of its own")
def test_one_namespace_for_all_rounds_of_a_loop():
    same(namespace_in_a_loop, one)
    assert namespace_in_a_loop(*one())[1] == [False, True]


def test_a_namespace_that_is_asked_for_once():
    same(namespace_once, one, breaks=["GB0059"])
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(namespace_once)(*one())
    assert torch._dynamo.utils.counters["frames"]["ok"] == 2


def imports_of_the_library(x):
    import colorsys

    return x + colorsys.rgb_to_hsv(1, 1, 1)[2]


def test_a_module_of_the_standard_library_is_imported_while_tracing():
    torch._dynamo.reset()
    sys.modules.pop("colorsys", None)
    assert torch.compile(imports_of_the_library, fullgraph=True)(*one()).tolist() == [2.0, 2.0]


def test_a_module_of_the_program_is_not(tmp_path, monkeypatch):
    (tmp_path / "own_module_of_a_test.py").write_text("value = 3\n")
    monkeypatch.syspath_prepend(tmp_path)

    def f(x):
        import own_module_of_a_test

        return x + own_module_of_a_test.value

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    assert torch.compile(f)(*one()).tolist() == [4.0, 4.0] and codes() == {"GB0147"}
    sys.modules.pop("own_module_of_a_test", None)


class WithNew:
    def __new__(cls, value):
        return object.__new__(cls, value)


class WithInit:
    def __init__(self, value):
        self.value = value


def test_what_the_constructor_of_object_takes():
    """Arguments, where the class has an __init__ and no __new__ of its own."""

    def f(x):
        made = object.__new__(WithInit, 3)
        made.value = 1
        try:
            return x + WithNew(2)
        except TypeError:
            return x + made.value

    same(f, one, frames=1, breaks=[])


def test_a_sum_of_floats_known_at_run_time():
    """From Python 3.12 on sum() keeps rounding errors, which the steps of a plan do not."""

    def f(x, a):
        return x * sum([a, 1e16, 1.0, -1e16])

    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(f)
    for a in (0.5, 1.5, 2.5, 3.5):
        x = torch.ones(2, dtype=torch.float64)
        assert compiled(x, a).tolist() == f(x, a).tolist()


def test_what_a_vmap_gives_that_is_the_same_for_all_examples():
    def f(x, y):
        def body(v, w):
            return v + w, w * 2

        return torch.func.vmap(body, in_dims=(0, None))(x, y)

    same(f, lambda: (torch.arange(6.0).view(3, 2), torch.ones(2)), frames=1, breaks=[])


def test_which_tensors_are_conjugates():
    def f(x):
        once, twice = x.conj(), x.conj().conj()
        return once + 1, once.is_conj(), twice.is_conj(), x.is_conj(), (once + 1).is_conj(), once.real.is_conj()

    with config.patch(trace_more=True):
        same(f, lambda: (torch.ones(2) * 1j,), frames=1, breaks=[])
