"""Special methods that are no functions, modules of classes of their own, what an iterator gives `yield from`."""

import builtins
import types

import pytest

import minidynamo as torch
from frontend.differential import same

pytestmark = pytest.mark.usefixtures("replaced_both_ways")


def ones():
    return torch.ones(2)


class Bound:
    """A descriptor whose look-up gives a function."""

    def __init__(self, result):
        self.result = result

    def __get__(self, instance, owner=None):
        return lambda *args: self.result


class Called:
    def __init__(self, result):
        self.result = result

    def __call__(self, *args):
        return self.result


def static(result):
    return staticmethod(lambda *args: result)


def text_classes(base, method):
    class Str(base):
        def __repr__(self):
            return "represented"

    class Repr(base):
        pass

    class Format(base):
        pass

    Str.__str__ = method("as text")
    Repr.__repr__ = method("as code")
    Format.__format__ = method("as wanted")
    return Str, Repr, Format


@pytest.mark.parametrize("method", [Bound, Called, static])
@pytest.mark.parametrize("base", [object, int, str, list, dict, float, Exception])
def test_text_by_a_special_method_that_is_no_function(base, method):
    def f(o, x):
        return [str(o), f"{o}", f"{o!r}", repr(o)], x + 1

    for cls in text_classes(base, method)[: 3 if base is not object else 1]:
        same(f, lambda c=cls: (c(), ones()))


@pytest.mark.parametrize("method", [Bound, Called, static])
@pytest.mark.parametrize("base", [object, int, str, list, float])
def test_results_of_special_methods_that_are_no_functions(base, method):
    class C(base):
        pass

    given = {"__len__": 3, "__bool__": False, "__hash__": 7, "__int__": 5, "__float__": 2.0, "__add__": "sum",
             "__radd__": "turned", "__neg__": "less", "__getitem__": "item", "__contains__": True}  # fmt: skip
    for name, result in given.items():
        setattr(C, name, method(result))

    def f(o, x):
        return [len(o), bool(o), 1 if o else 2, hash(o), int(o), float(o), o + 1, -o, o[0], 3 in o], x + 1

    same(f, lambda: (C(), ones()))


class Quiet(types.ModuleType):
    @property
    def level(self):
        return 5

    def __bool__(self):
        return False


def test_modules_of_a_class_of_their_own():
    module = Quiet("quiet")
    module.__dict__["level"] = 7
    module.scale = 3

    def f(x):
        y = x * module.scale
        return y, bool(module), "yes" if module else "no", isinstance(module, Quiet), type(module) is Quiet

    def g(x):
        return x + module.level

    same(f, lambda: (ones(),))
    same(g, lambda: (ones(),))


class Counted:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        if self.n < 3:
            return self.n
        raise StopIteration("the end", "and more")


def test_what_stop_iteration_carries_through_yield_from():
    def delegating(out):
        out.append((yield from Counted()))

    def f(x):
        out = []
        return list(delegating(out)), out, x + 1

    same(f, lambda: (ones(),))


def test_imports_of_our_own_are_not_the_programs():
    seen = []
    real = builtins.__import__

    def watching(name, *args, **kwargs):
        seen.append(name)
        return real(name, *args, **kwargs)

    def f(x, n):
        if n > 1:
            torch._dynamo.graph_break()
        return random_like(x) + n

    def random_like(x):
        return sorted([3, 1]), x * 2

    def g(x, n):
        print(end="")
        return x + n

    def first(x):
        return sorted([3, 1]) + x.sum

    with pytest.raises(TypeError):  # the first compilation and the first report of a process load modules of ours
        torch.compile(first)(ones())
    builtins.__import__ = watching
    try:
        torch.compile(g)(ones(), 2)
        with pytest.raises(TypeError):
            torch.compile(f)(ones(), 2)
    finally:
        builtins.__import__ = real
    assert seen == []


class CallsItself:
    pass


def test_a_call_that_is_an_object():
    class Calls:
        __call__ = Called("called")

    CallsItself.__call__ = CallsItself()

    def f(o, x):
        try:
            return o(1), x + 1
        except RecursionError:
            return "too deep", x

    same(f, lambda: (Calls(), ones()))
    same(f, lambda: (CallsItself(), ones()))


class Registry(type):
    def __setattr__(cls, name, value):
        if name in cls.__dict__.get("known", ()):
            raise AttributeError(name)
        super().__setattr__(name, value)


def test_the_dictionary_of_a_class_is_guarded_by_what_its_metaclass_has():
    class C(metaclass=Registry):
        known = ("fixed",)

    def f(cls, x):
        return cls.__dict__.get("known"), x + 1

    torch._dynamo.reset()
    torch._dynamo.utils.clear_compilation_metrics()
    compiled, made = torch.compile(f), []
    for _ in range(3):
        assert compiled(C, ones())[0] == ("fixed",)
        made.append(len(torch._dynamo.utils.get_compilation_metrics()))
    assert made[0] == made[1] == made[2]


class Lazy(types.ModuleType):
    def __getattr__(self, name):
        self.asked.append(name)
        if name == "missing":
            raise AttributeError(name)
        return len(name)


def test_modules_that_answer_for_what_they_lack():
    module = Lazy("lazy")
    module.asked = asked = []
    module.scale = 3

    def f(x):
        return x + module.four, module.scale, hasattr(module, "missing"), getattr(module, "missing", 7), module.other

    torch._dynamo.reset()
    torch._dynamo.utils.clear_compilation_metrics()
    compiled = torch.compile(f)
    expected = f(ones())[1:]
    plainly = asked[:]
    for _ in range(3):
        asked.clear()
        result = compiled(ones())
        assert result[0].tolist() == [5.0, 5.0] and result[1:] == expected and asked == plainly
    assert len(torch._dynamo.utils.get_compilation_metrics()) == 1


class Annotated:
    size: int


class Derived(Annotated):
    pass


def test_annotations_of_a_class_are_its_own():
    def f(x):
        return Annotated.__annotations__["size"], "size" in Derived.__annotations__, x + 1

    def g(x):
        return Annotated.__annotations__["size"], x + 1

    same(f, lambda: (ones(),))
    torch._dynamo.reset()
    torch._dynamo.utils.clear_compilation_metrics()
    compiled = torch.compile(g)
    assert [compiled(ones())[0] for _ in range(3)] == [int] * 3
    assert len(torch._dynamo.utils.get_compilation_metrics()) == 1
