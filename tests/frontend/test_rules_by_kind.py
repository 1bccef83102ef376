"""What decides which kind a thing is, where the opposite answer gives another result or another code: programs that
tell the two apart (tools/mutated_rules.py turns such a decision round)."""

import sys

import pytest

import minidynamo as torch
from frontend.differential import codes, same


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
    return y, sorted(locals())


@pytest.mark.skipif(sys.version_info >= (3, 13), reason="each call of locals() makes a dictionary of its own")
def test_one_namespace_for_all_rounds_of_a_loop():
    same(namespace_in_a_loop, one)
    assert namespace_in_a_loop(*one())[1] == [False, True]


def test_a_namespace_that_is_asked_for_once():
    same(namespace_once, one, breaks=["GB0059"])


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
