"""Grad modes as decorators of generator functions and of classes, plain and compiled."""

import functools
import inspect

import pytest

import minidynamo as torch
from frontend.differential import same

x = torch.ones(2)
DECORATORS = {
    "no_grad()": torch.no_grad(),
    "no_grad": torch.no_grad,
    "enable_grad()": torch.enable_grad(),
    "enable_grad": torch.enable_grad,
    "inference_mode()": torch.inference_mode(),
    "inference_mode": torch.inference_mode,
    "set_grad_enabled": lambda f: torch.set_grad_enabled(False)(f),
}


def modes():
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled()


@pytest.mark.parametrize("name", DECORATORS)
@pytest.mark.parametrize("outside", [True, False])
def test_generators_run_in_the_mode_each_time(name, outside):
    seen = []

    def numbers(n):
        try:
            for i in range(n):
                seen.append(modes())
                try:
                    got = yield i
                except KeyError:
                    got = "thrown"
                seen.append((got, *modes()))
        finally:
            seen.append(("end", *modes()))
        return "result"

    inside = (name.startswith("enable"), name.startswith("inference"))
    with torch.set_grad_enabled(outside):
        made = DECORATORS[name](numbers)
        assert inspect.isgeneratorfunction(made) and made.__name__ == "numbers"
        it = made(3)
        steps = [lambda: next(it), lambda: it.send("sent"), lambda: it.throw(KeyError("q"))]
        for i, step in enumerate(steps):
            assert step() == i and modes() == (outside, False)
        with pytest.raises(StopIteration) as end:
            next(it)
        assert end.value.value == "result" and modes() == (outside, False)
        again = [inside, ("sent", *inside), inside, ("thrown", *inside), inside, (None, *inside), ("end", *inside)]
        assert seen == again
        del seen[:]
        it = made(2)
        next(it)
        it.close()
        it = made(2)
        next(it)
        with pytest.raises(ValueError, match="mine"):
            it.throw(ValueError("mine"))
        assert seen == [inside, ("end", *inside)] * 2 and modes() == (outside, False)
    torch.set_grad_enabled(True)


def test_what_the_generator_switches_itself_does_not_last():
    @torch.no_grad()
    def switching():
        with torch.enable_grad():
            yield modes()
            yield modes()
        yield modes()

    outside, inside = (True, False), (False, False)
    assert [(found, modes()) for found in switching()] == [(outside, outside), (inside, outside), (inside, outside)]


def test_methods_and_partial_objects():
    class Owner:
        @torch.no_grad()
        def modes(self, n):
            for _ in range(n):
                yield modes()

    assert list(Owner().modes(2)) == [(False, False)] * 2
    assert list(torch.no_grad()(functools.partial(Owner().modes, 1))()) == [(False, False)]


def test_compiled_code_uses_decorated_generators():
    @torch.no_grad()
    def scaled(x):
        for i in range(3):
            yield x * i

    def f(x):
        total, required = x, []
        for part in scaled(x):
            required.append((part.requires_grad, torch.is_grad_enabled()))
            total = total + part
        return total, required, list(scaled(x)), sum(scaled(x))

    same(f, lambda: (x.clone().requires_grad_(),), frames=1, breaks=[])


@pytest.mark.parametrize("name", [name for name in DECORATORS if "enable_grad" not in name])
def test_a_class_is_made_in_the_mode(name):
    class Kept:
        """What is made."""

        def __init__(self, *args):
            self.made, self.args = torch.is_grad_enabled(), args

        def method(self):
            return torch.is_grad_enabled()

    with pytest.warns(FutureWarning, match="Kept"):
        make = DECORATORS[name](Kept)
    made = make(1, 2)
    assert type(made) is Kept and not made.made and made.method() and made.args == (1, 2)
    assert inspect.isfunction(make) and make.__name__ == "Kept" and make.__doc__ == "What is made."

    def f(x):
        kept = make(x)
        return x + 1, kept.made, kept.method()

    same(f, lambda: (x,), frames=1, breaks=[])


def test_other_things_are_refused():
    for decorator in (torch.no_grad(), torch.inference_mode()):
        with pytest.raises(TypeError, match="decorates functions"):
            decorator(3)
