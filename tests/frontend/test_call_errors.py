"""Calls that do not fit: every shape of call on every kind of callable, the exception's type and words as CPython's."""

import functools

import pytest

import minidynamo as torch

SHAPES = {
    "nothing": "g()",
    "one": "g(x)",
    "five": "g(1, 2, 3, 4, 5)",
    "unknown keyword": "g(1, nowhere=2)",
    "unknown keywords": "g(1, nowhere=2, neither=3)",
    "twice": "g(1, a=2)",
    "positional-only by keyword": "g(p=1)",
    "positional-only by keyword, and others": "g(1, p=1, q=2)",
    "misspelt": "g(1, keywrod=2)",
    "keyword twice": "g(1, k=1, **{'k': 2})",
    "keyword twice, both unpacked": "g(1, **{'k': 1}, **{'k': 2})",
    "star of an int": "g(*3)",
    "star of an int behind": "g(x, *3)",
    "star of None": "g(x, *None, 1)",
    "two stars of an int": "g(**3)",
    "two stars of a list behind": "g(x, k=1, **[1])",
    "two stars of None": "g(x, **None)",
    "keywords that are no strings": "g(1, **{2: 3})",
    "keywords that are no strings behind": "g(1, k=2, **{2: 3})",
    "all by star": "g(*(1, 2, 3, 4, 5, 6))",
    "keyword only missing": "g(1, 2)",
    "self by keyword": "g(1, self=3)",
}


def plain(a, b=1, *, k=0): ...
def only(p, q=2, /, a=3): ...
def required(a, *, k, keyword): ...
def several(a, b, c): ...
def gathers(p, /, *rest, **named): ...
def generator(a):
    yield a


def closure():
    kept = []

    def inner(a, k=1):
        kept.append(a)

    return inner


class Methods:
    def __init__(self, a=1): ...
    def method(self, a, k=1): ...
    @classmethod
    def of_class(cls, a): ...
    @staticmethod
    def static(a): ...
    def __call__(self, a): ...


class NoInit: ...


class WithNew:
    def __new__(cls, a): ...


class Below(Methods):
    def __init__(self, a):
        super().__init__(a)


def renamed(a): ...


renamed.__qualname__ = renamed.__name__ = "another"

CALLABLES = {
    "function": plain,
    "positional-only": only,
    "required keywords": required,
    "several": several,
    "gathers": gathers,
    "generator": generator,
    "closure": closure(),
    "renamed": renamed,
    "wrapped": functools.wraps(plain)(lambda a: a),
    "lambda": lambda a: a,
    "bound method": Methods().method,
    "method of the class": Methods.method,
    "class method": Methods.of_class,
    "static method": Methods.static,
    "callable object": Methods(),
    "class": Methods,
    "class without __init__": NoInit,
    "class with __new__": WithNew,
    "derived class": Below,
    "partial": functools.partial(plain, 1),
    "len": len,
    "isinstance": isinstance,
    "abs": abs,
    "method of a builtin": [].append,
    "int": int,
    "str": str,
    "list": list,
    "exception": ValueError,
}


def outcome(f, *args):
    try:
        return "result", str(type(f(*args)))
    except Exception as e:
        return type(e), str(e).split(" at 0x")[0]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", CALLABLES)
def test_words(kind, shape):
    callee, scope = CALLABLES[kind], {}
    exec(f"def f(x, g):\n    y = x + 1\n    try:\n        return y, {SHAPES[shape]}\n    except TypeError as e:\n"
         f"        return y, str(e)\ndef bare(x, g):\n    x = x + 1\n    return {SHAPES[shape]}\n", scope)  # fmt: skip
    x = torch.ones(1)
    text, raised = scope["f"](x, callee)[1], outcome(scope["bare"], x, callee)
    for more in (False, True):
        torch._dynamo.reset()
        with torch._dynamo.config.patch(trace_more=more):
            f, bare = (torch.compile(scope[name], backend="eager") for name in ("f", "bare"))
            for _ in range(2):
                got = f(x, callee)[1]
                assert type(got) is type(text)
                if isinstance(text, str):
                    assert got.split(" at 0x")[0] == text.split(" at 0x")[0]
                assert outcome(bare, x, callee) == raised


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(
    "kind", ["function", "positional-only", "required keywords", "closure", "bound method", "class"]
)
def test_in_one_graph(kind, shape):
    """The kinds whose binding is traced: a caught error does not break the graph."""
    callee, scope = CALLABLES[kind], {}
    exec(f"def f(x, g):\n    try:\n        {SHAPES[shape]}\n    except TypeError as e:\n        return x + 1, str(e)\n"
         "    return x + 1, ''\n", scope)  # fmt: skip
    x = torch.ones(1)
    compiled = torch.compile(scope["f"], backend="eager", fullgraph=True)
    assert compiled(x, callee)[1] == scope["f"](x, callee)[1]


def test_defaults_that_change():
    def g(a, b=1, *, k=2): ...

    def f(x):
        try:
            g()
        except TypeError as e:
            return x + 1, str(e)

    compiled = torch.compile(f, backend="eager")
    for change in (lambda: None, lambda: setattr(g, "__defaults__", None), lambda: setattr(g, "__kwdefaults__", None)):
        change()
        assert compiled(torch.ones(1))[1] == f(torch.ones(1))[1]
