"""Modes of torch functions that a compiled function is called under answer in its trace, and in it only."""

import contextlib

import pytest

import minidynamo as torch
from minidynamo.overrides import TorchFunctionMode


class Scale(TorchFunctionMode):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * self.factor if func is torch.sin else result


class Names(TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Refuses(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func is torch.cos:
            raise KeyError("cos")
        return func(*args, **(kwargs or {}))


class Counts(TorchFunctionMode):
    total = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        Counts.total += 1
        return func(*args, **(kwargs or {}))


class Tagged(torch.Tensor):
    pass


def x():
    return torch.tensor([0.0, 1.0, 2.0])


def plain_sin(x):
    return torch.sin(x)


def other_modes(compiled):
    f = compiled(plain_sin)
    with Scale(2):
        a = f(x())
    with Scale(3):
        b = f(x())
    c = f(x())
    with Scale(2), Scale(5):
        d = f(x())
    return a, b, c, d


def changed_attribute(compiled):
    f, mode = compiled(plain_sin), Scale(2)
    with mode:
        a = f(x())
    mode.factor = 7
    with mode:
        return a, f(x())


def names_of_two_calls(compiled):
    f, mode = compiled(lambda x: (x.sin() + 1).sum()), Names()
    with mode:
        return f(x()), f(x()), mode.names


def inside_and_outside(compiled):
    def program(x):
        before = torch.sin(x)
        with Scale(10):
            within = torch.sin(x)
        return before, within, torch.sin(x)

    with Scale(2):
        return compiled(program)(x())


def subclass(compiled):
    mode = Names()
    with mode:
        result = compiled(lambda x: x * 2)(x().as_subclass(Tagged))
    return type(result).__name__, result, mode.names


def gradient(compiled):
    given = x().requires_grad_()
    with Scale(3):
        loss = compiled(lambda x: torch.sin(x).sum())(given)
    loss.backward()
    return loss, given.grad


def caught(compiled):
    seen = []

    def program(x):
        seen.append(1)
        try:
            return torch.cos(x)
        except KeyError as e:
            return x + 1, str(e)

    with Refuses():
        return compiled(program)(x()), seen


def counter_of_a_class(compiled):
    Counts.total = 0
    with Counts():
        compiled(lambda x: x.sin().cos())(x())
    return Counts.total


def in_place(compiled):
    def program(x):
        x.add_(1)
        x[0] = 5
        x += 2
        return x

    mode = Names()
    with mode:
        return compiled(program)(x()), mode.names


def innermost(compiled):
    def program(x):
        return x + len(torch.overrides._get_current_function_mode_stack())

    with Names(), Scale(3):
        return compiled(program)(x())


PROGRAMS = [
    (other_modes, 4), (changed_attribute, 2), (names_of_two_calls, 2), (inside_and_outside, 1), (subclass, 1),
    (gradient, 1), (caught, 1), (counter_of_a_class, 1), (in_place, 1), (innermost, 1),
]  # fmt: skip


def shown(result):
    if isinstance(result, torch.Tensor):
        return [round(v, 4) for v in result.as_subclass(torch.Tensor).flatten().tolist()]
    return [shown(r) for r in result] if isinstance(result, (tuple, list)) else result


@pytest.mark.parametrize("program, graphs", PROGRAMS, ids=lambda p: getattr(p, "__name__", ""))
def test_captured_whole(program, graphs):
    expected = shown(program(lambda f: f))
    for compiled in (
        lambda f: torch.compile(f, backend="eager", fullgraph=True),
        lambda f: torch.compile(f, fullgraph=True),
    ):
        torch._dynamo.reset()
        assert shown(program(compiled)) == expected
    torch._dynamo.reset()
    counter = torch._dynamo.testing.CompileCounter()
    assert shown(program(lambda f: torch.compile(f, backend=counter, fullgraph=True))) == expected
    assert counter.frame_count == graphs


def test_breaks():
    def program(x):
        y = torch.sin(x)
        torch._dynamo.graph_break()
        return torch.sin(y)

    counter = torch._dynamo.testing.CompileCounter()
    with Scale(2) as mode:
        assert shown(torch.compile(program, backend=counter)(x())) == shown(program(x()))
    assert counter.frame_count == 2 and mode.factor == 2
    with Scale(2), pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(program, fullgraph=True)(x())


def left_on(mode):
    def program(x):
        mode.__enter__()
        return torch.sin(x)

    return program


def taken_off(mode):
    def program(x):
        mode.__exit__(None, None, None)
        y = torch.sin(x)
        mode.__enter__()
        return y

    return program


@pytest.mark.parametrize("make", [left_on, taken_off])
def test_modes_that_a_function_turns_on_or_off(make):
    def run(compiled):
        mode = Scale(3)
        program = compiled(make(mode))
        with contextlib.ExitStack() as stack:
            if make is taken_off:
                stack.enter_context(mode)
            result = program(x())
            after = torch.sin(x())
            if make is left_on:
                mode.__exit__(None, None, None)
        return shown(result), shown(after)

    assert run(torch.compile) == run(lambda f: f)
