"""compile() of what is no plain function: partials, caches, operators, callable objects, classes."""

import functools
import operator
import pickle
import types

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo import nn
from minidynamo._dynamo import exc
from minidynamo._dynamo.testing import CompileCounter


def scaled(x, a=1.0, *, b=0.0):
    return x * a + b


def broken(x, a=1.0):
    y = x + 1
    torch._dynamo.graph_break()
    return y * a


class Multiplies:
    def __call__(self, x, y=2):
        return x * y


class Holding:
    @functools.lru_cache  # noqa: B019  the object lives as long as the test
    def cached(self, x):
        return x + 1

    @staticmethod
    def static(x):
        return x + 1


def callables():
    x = torch.arange(3.0)
    return {
        "partial": (functools.partial(scaled, a=2.0), (x,)),
        "partial of a partial subclass": (type("P", (functools.partial,), {})(scaled, a=2.0), (x,)),
        "partial of an operator": (functools.partial(torch.add, x), (x,)),
        "cache": (functools.lru_cache(scaled), (x,)),
        "method with a cache": (Holding().cached, (x,)),
        "method of an object": (types.MethodType(Multiplies(), x), (3,)),
        "method of a partial": (types.MethodType(functools.partial(scaled, a=3.0), x), ()),
        "callable object": (Multiplies(), (x,)),
        "operator": (torch.add, (x, x)),
        "method of a tensor": (x.add, (x,)),
        "method of Tensor": (torch.Tensor.add, (x, x)),
        "function in C": (operator.add, (x, x)),
        "static method": (staticmethod(scaled), (x,)),
    }


@pytest.mark.parametrize("name", callables())
def test_calls_are_compiled(name):
    fn, arguments = callables()[name]
    counter = CompileCounter()
    compiled = torch.compile(fn, backend=counter)
    for _ in range(2):
        assert torch.equal(compiled(*arguments), fn(*arguments))
    assert counter.frame_count == 1


@pytest.mark.parametrize("fn", [functools.partial(broken, a=2.0), functools.lru_cache(broken)])
def test_breaks_are_told_and_errors_with_fullgraph(fn):
    counter, x = CompileCounter(), torch.ones(2)
    assert torch.compile(fn, backend=counter)(x).tolist() == fn(x).tolist()
    assert counter.frame_count == 2
    with pytest.raises(exc.Unsupported):
        torch.compile(fn, fullgraph=True)(torch.ones(2))


def test_a_partial_is_read_at_each_call():
    partial, x = functools.partial(scaled, a=2.0), torch.ones(2)
    compiled = torch.compile(partial, fullgraph=True)
    assert compiled(x).tolist() == [2, 2]
    partial.keywords["a"] = 3.0
    assert compiled(x).tolist() == [3, 3]
    partial.__setstate__((lambda x, y, b: x - y - b, (torch.ones(2) * 5,), {"b": 1.0}, None))
    assert compiled(x).tolist() == [3, 3]
    assert compiled(x, b=2.0).tolist() == [2, 2]


def test_a_cache_answers():
    calls = []

    @functools.lru_cache(maxsize=1)
    def f(x):
        calls.append(1)
        return x * 2

    compiled, x = torch.compile(f), torch.ones(2)
    assert compiled(x) is compiled(x) is f(x) and len(calls) == 1
    assert compiled.cache_info().hits == 2
    compiled.cache_clear()
    assert compiled(x).tolist() == [2, 2] and len(calls) == 2
    assert compiled.__name__ == "f" and compiled.__wrapped__ is f and compiled._torchdynamo_orig_callable is f
    again = torch.compile(compiled, backend="eager")
    assert again.__wrapped__ is f and again(x) is f(x)


def test_what_is_compiled_is_bound_like_what_it_was_made_of():
    x = torch.ones(2)

    class Holder:
        partial = torch.compile(functools.partial(scaled, a=2.0))
        object = torch.compile(Multiplies())
        operator = torch.compile(torch.add)
        static = torch.compile(staticmethod(scaled))
        plain = torch.compile(scaled)

        @torch.compile
        @functools.lru_cache  # noqa: B019
        def cached(self, x):
            return self, x + 1

    h = Holder()
    assert h.partial(x).tolist() == h.object(x).tolist() == h.operator(x, x).tolist() == [2, 2]
    assert Holder.partial(x).tolist() == [2, 2] and h.static(x).tolist() == Holder.static(x).tolist() == [1, 1]
    assert h.cached(x)[0] is h and h.cached(x) is h.cached(x) and Holder.cached(h, x) is h.cached(x)
    with pytest.raises(TypeError):
        h.plain(x)


def test_exceptions_are_those_of_the_call():
    for fn in (functools.partial(scaled, a=2.0), torch.add, Multiplies()):
        with pytest.raises(TypeError) as plain:
            fn(nothing=1)
        with pytest.raises(TypeError) as compiled:
            torch.compile(fn)(nothing=1)
        assert str(compiled.value) == str(plain.value)


class Doubles(nn.Module):
    def forward(self, x):
        return x * 2


class Adds:
    def __call__(self, x):
        return x + 1


@pytest.mark.parametrize("base", [Doubles, Adds])
@pytest.mark.parametrize("inherits", [False, True])
def test_instances_of_a_compiled_class(base, inherits):
    counter, x = CompileCounter(), torch.ones(2)
    body = {} if inherits else {name: vars(base)[name] for name in ("forward", "__call__") if name in vars(base)}
    made = type("Made", (base if inherits else base.__mro__[1],), body)
    wanted = made()(x).tolist()
    compiled = torch.compile(made, backend=counter)
    assert compiled is made and isinstance(made(), made)
    one, other = made(), made()
    assert one(x).tolist() == one(x).tolist() == other(x).tolist() == wanted
    assert counter.frame_count >= 1 and counter.op_count == counter.frame_count
    before = counter.frame_count
    assert base()(x).tolist() == wanted and counter.frame_count == before  # the base is as it was
    same(lambda m, x: m(x) + 1, lambda: (one, x), frames=1, breaks=[])
    again = CompileCounter()
    assert torch.compile(one, backend=again)(x).tolist() == wanted and again.frame_count == 1


def test_classes_without_calls_are_left_alone():
    assert torch.compile(int) is int and torch.compile(Holding) is Holding
    assert torch.compile(functools.partial) is functools.partial


def test_hooks_and_breaks_in_a_compiled_module_class():
    counter, x = CompileCounter(), torch.ones(2)

    @torch.compile(backend=counter)
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.part = Doubles()

        def forward(self, x):
            y = self.part(x)
            torch._dynamo.graph_break()
            return y + 1

    m = Model()
    m.register_forward_hook(lambda m, a, out: out + 100)
    assert m(x).tolist() == m(x).tolist() == [103, 103]
    assert counter.frame_count >= 2


def test_a_compiled_partial_is_pickled_as_a_partial_is():
    f = pickle.loads(pickle.dumps(torch.compile(functools.partial(scaled))))
    assert type(f) is torch._C.CompiledFunction and f.__wrapped__.func is scaled


def test_compiled_methods_are_traced():
    class Marked:
        @torch.compile
        def method(self, x):
            return x + 1

        @torch.compile
        def __add__(self, x):
            return x + 2

        @classmethod
        @torch.compile
        def of_class(cls, x):
            return x + 3

    made = Marked()
    same(lambda m, x: (m.method(x), m + x, m.of_class(x)), lambda: (made, torch.ones(2)), frames=1, breaks=[])
    same(lambda m, x: (Marked.method(m, x), type(m).of_class(x)), lambda: (made, torch.ones(2)), frames=1, breaks=[])


class Prints(torch.nn.Module):
    def forward(self, x):
        y = x + 1
        print("forward")
        return y * 2


class Outer(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Prints()

    def forward(self, x):
        return self.inner(x * 3) - 1


@pytest.mark.parametrize(("kind", "breaks", "graphs"), [(Prints, 1, 2), (Outer, 2, 4)])
@pytest.mark.parametrize("how", ["object", "in place", "method", "function"])
def test_the_call_of_a_compiled_module_is_no_break_of_its_own(kind, breaks, graphs, how):
    """As in torch 2.13: a break in `forward` counts once, in a function that calls the module once more."""
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    seen, module = [], kind()

    def backend(graph, inputs):
        seen.append(graph)
        return graph

    compiled = module
    if how == "in place":
        module.compile(backend=backend)
    else:
        target = {"object": module, "method": module.forward, "function": lambda x: module(x)}[how]
        compiled = torch.compile(target, backend=backend)
    assert compiled(torch.ones(2)).tolist() == kind()(torch.ones(2)).tolist()
    counted = sum(torch._dynamo.utils.counters["graph_break"].values())
    assert (counted, len(seen)) == (breaks + (how == "function"), graphs)
