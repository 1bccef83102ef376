"""config.disable and config.compile_while_traced: values that are asked for in each call."""

import asyncio
import sys
import threading

import pytest

import minidynamo as torch
from minidynamo._dynamo import config


class Runs:
    """A backend that counts the runs of what it compiled."""

    def __init__(self):
        self.count = 0

    def __call__(self, gm, inputs):
        def run(*args):
            self.count += 1
            return gm.forward(*args)

        return run


@pytest.fixture(autouse=True)
def restored():
    yield
    del config.disable, config.compile_while_traced


def double(x):
    return x * 2


def test_disable_while_the_program_runs():
    runs, x = Runs(), torch.ones(2)
    compiled = torch.compile(double, backend=runs)
    compiled(x)
    assert runs.count == 1
    config.disable = True
    later = torch.compile(lambda x: x + 1, backend=runs)
    for _ in range(2):
        assert compiled(x).tolist() == [2, 2] and compiled(torch.ones(3)).tolist() == [2, 2, 2]
        assert later(x).tolist() == [2, 2]
    assert runs.count == 1
    config.disable = False
    compiled(x), later(x)
    assert runs.count == 3
    config.disable = True
    del config.disable
    compiled(x)
    assert runs.count == 4


def test_a_disabled_function_may_break_with_fullgraph():
    @torch.compile(fullgraph=True)
    def f(x):
        torch._dynamo.graph_break()
        return x

    with config.patch(disable=True):
        assert f(3) == 3
    with pytest.raises(torch._dynamo.exc.Unsupported):
        f(torch.ones(1))


def test_a_patch_is_for_its_context():
    runs, x = Runs(), torch.ones(2)
    compiled = torch.compile(double, backend=runs)
    compiled(x)
    with config.patch(disable=True):
        compiled(x)
        assert runs.count == 1
        with config.patch(disable=False):
            compiled(x)
        assert runs.count == 2
        thread = threading.Thread(target=compiled, args=(x,))
        thread.start()
        thread.join()
        assert runs.count == 3
        config.disable = False  # of the patch
        compiled(x)
        assert runs.count == 4
        config.disable = True
        compiled(x)
        assert runs.count == 4
    compiled(x)
    assert runs.count == 5 and not config.disable

    @config.patch("disable", True)
    def as_decorator():
        return compiled(x)

    assert as_decorator().tolist() == [2, 2] and runs.count == 5


def test_a_task_keeps_the_patch_it_was_made_in():
    runs, x = Runs(), torch.ones(2)
    compiled = torch.compile(double, backend=runs)

    async def call():
        await asyncio.sleep(0)
        compiled(x)

    async def main():
        with config.patch(disable=True):
            task = asyncio.ensure_future(call())
        await asyncio.gather(task, call())

    asyncio.run(main())
    assert runs.count == 1


def test_disabled_in_the_middle_of_a_call():
    runs = Runs()

    def set_disable():
        config.disable = True

    @torch.compile(backend=runs)
    def f(x):
        y = x + 1
        set_disable()
        return y * 3

    assert f(torch.ones(2)).tolist() == [6, 6]
    before = runs.count
    assert f(torch.ones(2)).tolist() == [6, 6] and runs.count == before


def test_observed_calls():
    runs, x = Runs(), torch.ones(2)
    compiled = torch.compile(double, backend=runs)
    compiled(x)

    def observed(count):
        sys.setprofile(lambda *a: None)
        try:
            compiled(x)
        finally:
            sys.setprofile(None)
        assert runs.count == count

    observed(1)
    config.compile_while_traced = True
    observed(2)
    with config.patch(compile_while_traced=False):
        observed(2)
    observed(3)


def test_functions_that_are_never_compiled_are_so_in_their_thread():
    runs, x = Runs(), torch.ones(2)
    compiled = torch.compile(double, backend=runs)
    compiled(x)
    inside, done = threading.Event(), threading.Event()

    @torch.compiler.disable
    def waits():
        compiled(x)
        inside.set()
        done.wait(10)

    thread = threading.Thread(target=waits)
    thread.start()
    inside.wait(10)
    assert runs.count == 1
    compiled(x)
    assert runs.count == 2
    done.set()
    thread.join()
    compiled(x)
    assert runs.count == 3
