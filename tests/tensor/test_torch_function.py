"""__torch_function__ of classes below Tensor and of other objects, and modes: plain, and traced to one graph.

torch_function_calls.json holds what torch 2.13 asks about: {expression: [names of the functions, type of the result]}.
"""

import contextlib
import copy
import json
import pathlib
import pickle

import pytest

import minidynamo as torch
import minidynamo.nn.functional as F  # noqa: N812  its usual name
from minidynamo import overrides

CALLS = json.loads((pathlib.Path(__file__).parent / "torch_function_calls.json").read_text())
LOG = []


class Plain(torch.Tensor):
    """Leaves everything to Tensor."""


class Below(Plain):
    def twice(self):
        return self * 2


class Other(torch.Tensor):
    pass


class Passing(torch.Tensor):
    scale = 3

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs or {})

    def twice(self):
        return self * 2

    @property
    def rows(self):
        return self.shape[0]

    @classmethod
    def of(cls, x):
        return x.as_subclass(cls)


class Logging(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        name = func.__name__
        if name in ("__get__", "__set__", "__delete__"):
            name = func.__self__.__name__ + "." + name
        LOG.append(name)
        return super().__torch_function__(func, types, args, kwargs or {})


class Doubling(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        return result * 2 if func in (torch.add, torch.Tensor.add) else result


class Unwrapping(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


HANDLERS = {torch.relu: lambda x: x - 100, F.linear: lambda x, weight, bias=None: x + 1000}


class Table(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func in HANDLERS:
            return HANDLERS[func](*args, **(kwargs or {}))
        return super().__torch_function__(func, types, args, kwargs or {})


class Units:
    """No tensor: a value and its unit."""

    def __init__(self, value, unit):
        self.value, self.unit = value, unit

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        units = [a.unit for a in args if isinstance(a, Units)]
        values = [a.value if isinstance(a, Units) else a for a in args]
        return Units(func(*values, **(kwargs or {})), units[0])


class Finer(Units):
    pass


class Tagged(torch.Tensor):
    def __new__(cls, data, tag):
        made = torch.Tensor._make_subclass(cls, data)
        made.tag = tag
        return made


class Counted(torch.Tensor):
    def __init__(self, data):
        self.count = len(data)


class Log(overrides.TorchFunctionMode):
    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func.__name__)
        return func(*args, **(kwargs or {}))


class Twice(overrides.TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return result * 2 if func in (torch.add, torch.Tensor.add) else result


def of(cls, *shape):
    values = torch.tensor([1.0, -2.0, 3.0]) if not shape else torch.arange(12.0).reshape(shape)
    return values.as_subclass(cls)


def shown(value):
    """Types, values and nesting as something to compare."""
    if isinstance(value, torch.Tensor):
        tag = [(name, shown(held)) for name, held in sorted(vars(value).items())]
        plain = value.detach().as_subclass(torch.Tensor)
        return type(value).__name__, str(plain.dtype), plain.tolist(), value.requires_grad, tag
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [shown(item) for item in value]
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return (type(value).__name__, shown(value.value), value.unit) if isinstance(value, Units) else value


@pytest.mark.parametrize("text", CALLS)
def test_whom_a_call_asks(text):
    x = of(Logging)
    LOG.clear()
    result = None
    names = {"torch": torch, "x": x, "__import__": __import__}
    with contextlib.suppress(RuntimeError, TypeError, ValueError):
        result = eval(text, names)  # noqa: S307  expressions of the file beside this one
    wanted, kind = CALLS[text]
    assert wanted == LOG
    if not kind.startswith("!") and "(" not in kind:
        assert type(result).__name__ == kind


def assign(x):
    x[0] = 5.0
    return x


def add_in_place(x):
    before = x
    x += 1
    return x, before is x


def attribute(x):
    x.tag = x + 1
    return x.tag, x


def disabled(x):
    with torch._C.DisableTorchFunctionSubclass():
        inside = x + 1
    return inside, x + 1


PROGRAMS = {
    "operators": lambda x: (x + 1) * 2 - x / 3,
    "reflected": lambda x: (1 + x, 2 * x, 1 - x, 2 / x, 2**x, x // 2, x % 2),
    "functions": lambda x: torch.add(x, 1).sin().sum(),
    "comparisons": lambda x: (x > 0, x == x, x != 1, (x > 0) & (x < 2), ~(x > 0)),
    "unary": lambda x: (-x, abs(x), x @ x),
    "attributes": lambda x: (x.shape, x.ndim, x.dtype, x.size(0), x.dim(), x.numel(), x.requires_grad, x.is_leaf),
    "items": lambda x: (x[0], x[1:], len(x)),
    "rows": lambda x: [row + 1 for row in x],
    "a write": lambda x: (x.add_(1) is x, x),
    "an item's write": assign,
    "in place": add_in_place,
    "with a tensor": lambda x: (x + torch.ones(3), torch.ones(3) + x, torch.stack([x, torch.ones(3)])),
    "several results": lambda x: (x.max(0), torch.topk(x, 2), x.split(1), x.unbind()),
    "views": lambda x: (x[None].T, x.view(3, 1), x.data, x.reshape(-1)),
    "questions": lambda x: (isinstance(x, torch.Tensor), type(x).__name__, type(x + 1).__name__, torch.is_tensor(x)),
    "functional": lambda x: (F.relu(x), F.softmax(x, 0), F.linear(x[None], torch.ones(2, 3)), F.mse_loss(x, x)),
    "conversions": lambda x: (x.to(torch.float64), x.float() is x, x.clone(), x.detach(), torch.zeros_like(x)),
    "an attribute": attribute,
    "itself": lambda x: (x, {"again": [x]}),
    "disabled": disabled,
    "where": lambda x: torch.where(x > 0, x, torch.zeros(3)),
    "new": lambda x: (x.new_zeros(2), x.new_tensor([1.0])),
}
CLASSES = (Plain, Below, Passing, Doubling, Unwrapping, Table)


@pytest.mark.parametrize("cls", CLASSES, ids=lambda c: c.__name__)
@pytest.mark.parametrize("name", PROGRAMS)
def test_one_graph_gives_what_plain_python_gives(cls, name, no_defects):
    program = PROGRAMS[name]
    for backend in ("eager", "llvm"):
        torch._dynamo.reset()
        compiled = torch.compile(program, fullgraph=True, backend=backend)
        for _ in range(2):
            plain, traced = of(cls), of(cls)
            assert shown(compiled(traced)) == shown(program(plain))
            assert shown(traced) == shown(plain)


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_are_seen_in_their_order(name):
    LOG.clear()
    PROGRAMS[name](of(Logging))
    plain = list(LOG)
    x = of(Logging)
    compiled = torch.compile(PROGRAMS[name], fullgraph=True)
    LOG.clear()
    compiled(x)
    assert plain == LOG


MIXED = {
    "method of the class": (lambda x: x.twice(), Passing),
    "property": (lambda x: x * x.rows, Passing),
    "class method": (lambda x: x.of(torch.ones(2)), Passing),
    "constant of the class": (lambda x: x * x.scale, Passing),
    "handled functions": (lambda x: (torch.relu(x), x.relu(), F.linear(x, torch.ones(2, 3)), torch.sin(x)), Table),
    "a class and one below": (lambda x, y: (x + y, y + x, torch.stack([x, y])), Plain, Below),
    "a cast": (lambda x: (x.as_subclass(Below).twice(), type(x)), torch.Tensor),
    "constructor": (lambda x: Plain(x) * 2, torch.Tensor),
    "own constructor": (lambda x: (Tagged(x, "t"), Tagged(x, "u").tag, Tagged(x, "v") + 1), torch.Tensor),
    "own initialisation": (lambda x: (Counted(x).count, Counted(x)), torch.Tensor),
    "in a closure": (lambda x: (lambda: x + 1)(), Passing),
}


@pytest.mark.parametrize("name", MIXED)
def test_classes_in_one_graph(name, no_defects):
    program, *classes = MIXED[name]
    compiled = torch.compile(program, fullgraph=True)
    for _ in range(2):
        assert shown(compiled(*map(of, classes))) == shown(program(*map(of, classes)))


def test_another_class_is_another_graph():
    counter = torch._dynamo.testing.CompileCounter()
    compiled = torch.compile(lambda x: x + 1, backend=counter)
    for cls in (Plain, Passing, torch.Tensor, Plain):
        assert type(compiled(of(cls))) is cls
    assert counter.frame_count == 3
    compiled = torch.compile(lambda x: x + 1, backend=counter, fullgraph=True)
    assert shown(compiled(of(Doubling))) == shown(of(Doubling) + 1)
    before = Doubling.__torch_function__
    try:
        Doubling.__torch_function__ = classmethod(lambda cls, func, types, args=(), kwargs=None: 7)
        assert compiled(of(Doubling)) == 7
    finally:
        Doubling.__torch_function__ = before


def test_gradients_go_through():
    def program(x):
        return (x * x).sum()

    for compiled in (program, torch.compile(program, fullgraph=True)):
        leaf = torch.ones(3, requires_grad=True)
        result = compiled(leaf.as_subclass(Passing))
        assert type(result) is Passing
        result.backward()
        assert leaf.grad.tolist() == [2.0, 2.0, 2.0]


def test_objects_that_are_no_tensors(no_defects):
    def program(a, b, c):
        return torch.add(a, b), torch.mul(a, 2).unit, torch.sin(a).value, torch.add(a, c)

    metres, seconds, finer = Units(torch.ones(2), "m"), Units(torch.ones(2), "s"), Finer(torch.ones(2), "mm")
    compiled = torch.compile(program, fullgraph=True)
    assert shown(compiled(metres, seconds, finer)) == shown(program(metres, seconds, finer))
    with pytest.raises(TypeError, match="unsupported operand"):
        of(Plain) + of(Other)


def test_a_module_is_asked_as_a_whole():
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
    x = of(Logging)
    LOG.clear()
    assert type(layer(x)) is Logging and LOG == ["linear", "relu"]
    compiled = torch.compile(layer, fullgraph=True)
    LOG.clear()
    assert type(compiled(x)) is Logging and LOG == ["linear", "relu"]


def test_parameters_override_nothing():
    parameter = torch.nn.Parameter(torch.ones(2))
    assert type(parameter + 1) is torch.Tensor and not overrides.has_torch_function((parameter,))
    assert type(parameter + of(Plain, 12)[:2]) is Plain


# --- modes ------------------------------------------------------------------------------------------------------


def under_log(x):
    with Log() as mode:
        y = torch.sin(x + 1)
        y[0].mul(2)
        len(y), y.shape
        F.linear(x, torch.ones(2, 3))
        torch.zeros(2)
    return y, mode.seen


def under_two(x):
    with Twice(), Twice():
        y = x + 1
    return y, x + 1


def after_an_error(x):
    try:
        with Twice():
            raise ValueError
    except ValueError:
        return x + 1


def switched_off(x):
    with Log() as mode, torch._C.DisableTorchFunction():
        y = x + 1
    with mode, torch._C.DisableTorchFunctionSubclass():
        y = y + 1
    return y, mode.seen


def with_a_subclass(x):
    with Log() as mode:
        y = x.as_subclass(Passing) + 1
    return y, mode.seen, type(y)


MODES = {f.__name__: f for f in (under_log, under_two, after_an_error, switched_off, with_a_subclass)}


@pytest.mark.parametrize("name", MODES)
def test_modes(name, no_defects):
    compiled = torch.compile(MODES[name], fullgraph=True)
    wanted = shown(MODES[name](of(torch.Tensor)))
    for _ in range(2):
        assert shown(compiled(of(torch.Tensor))) == wanted
    assert overrides._len_torch_function_stack() == 0


def test_what_a_mode_sees():
    assert under_log(of(torch.Tensor))[1] == [
        *("add", "sin", "__getitem__", "mul", "__len__", "__get__", "ones", "linear", "zeros"),
    ]


def test_compiled_code_under_a_mode_asks_it():
    compiled = torch.compile(lambda x: x + 1)
    x = of(torch.Tensor)
    once = compiled(x).tolist()
    with Twice():
        assert compiled(x).tolist() == [2 * v for v in once]
    assert compiled(x).tolist() == once
    sub = torch.compile(lambda x: x + 1, fullgraph=True)
    assert type(sub(of(Plain))) is Plain
    with torch._C.DisableTorchFunctionSubclass():
        assert type(sub(of(Plain))) is torch.Tensor


def test_the_stack_of_modes():
    with Log() as outer:
        with Twice() as inner:
            assert overrides._get_current_function_mode() is inner
            assert overrides._get_current_function_mode_stack() == [outer, inner]
            with overrides._pop_mode_temporarily() as popped:
                assert popped is inner and overrides._len_torch_function_stack() == 1
        assert overrides._is_torch_function_mode_enabled()
    assert overrides._get_current_function_mode() is None
    with pytest.raises(RuntimeError, match="no TorchFunctionMode"):
        torch._C._pop_torch_function_stack()
    with pytest.raises(IndexError):
        torch._C._get_function_stack_at(0)
    with pytest.raises(NotImplementedError), overrides.TorchFunctionMode():
        torch.ones(1)
    assert overrides._len_torch_function_stack() == 0


# --- functions of torch.overrides -------------------------------------------------------------------------------


def test_functions_of_a_program_can_be_overridden():
    def scaled(x, by=None):
        if overrides.has_torch_function_variadic(x, by):
            return overrides.handle_torch_function(scaled, (x, by), x, by=by)
        return x * by

    class Answer:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func.__name__, len(types), sorted(kwargs)

    assert scaled(Answer(), by=1) == scaled(1, by=Answer()) == ("scaled", 1, ["by"]) and scaled(2, by=3) == 6

    @overrides.wrap_torch_function(lambda a, b: (a, b))
    def added(a, b):
        return a + b

    x = torch.ones(2)
    assert type(added(x, of(Plain, 12)[:2])) is Plain and added(x, x).tolist() == [2.0, 2.0]
    compiled = torch.compile(lambda x, y: added(x, y), fullgraph=True)
    assert type(compiled(x, of(Plain, 12)[:2])) is Plain and type(compiled(x, x)) is torch.Tensor


def test_what_can_be_overridden():
    assert overrides.resolve_name(torch.add) == "torch.add"
    assert overrides.resolve_name(torch.Tensor.add) == "torch.Tensor.add"
    assert overrides.resolve_name(torch.Tensor.shape.__get__) == "torch.Tensor.shape.__get__"
    assert overrides.resolve_name(F.linear) == "torch.nn.functional.linear" and overrides.resolve_name(len) is None
    assert overrides.is_tensor_method_or_property(torch.Tensor.add)
    assert overrides.is_tensor_method_or_property(torch.Tensor.shape.__get__)
    assert not overrides.is_tensor_method_or_property(torch.add)
    assert overrides.is_tensor_like(torch.ones(1)) and overrides.is_tensor_like(Units(1, "m"))
    assert not overrides.is_tensor_like(3)
    assert torch.is_tensor in overrides.get_ignored_functions()
    overridable = overrides.get_overridable_functions()
    assert torch.add in overridable[torch] and torch.Tensor.add in overridable[torch.Tensor]
    assert F.linear in overridable[F] and torch.is_tensor not in overridable[torch]
    assert overrides.get_testing_overrides()[torch.add](1, out=2) == -1


def test_overridable_functions_are_functions_to_look_at():
    assert F.bilinear.__name__ == "bilinear" and "weight" in F.bilinear.__wrapped__.__code__.co_varnames
    for function in (F.linear, F.bilinear):
        assert pickle.loads(pickle.dumps(function)) is function and copy.deepcopy(function) is function
    with pytest.raises(TypeError, match="takes a function"):
        torch._C._overridable(3)


BAD = {
    "raises": (lambda: 1 / 0, ZeroDivisionError),
    "calls the compiled function again": (lambda: AGAIN[0](torch.ones(3)).sum(), None),
    "gives something else": (lambda: "text", None),
}
AGAIN = []


@pytest.mark.parametrize("name", BAD)
def test_handlers_that_misbehave(name):
    act, error = BAD[name]

    class Odd(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return act()

    def program(x):
        return torch.sin(x)

    compiled = torch.compile(program)
    AGAIN[:] = [compiled]
    x = of(Odd)
    if error:
        with pytest.raises(error):
            compiled(x)
        assert compiled(torch.zeros(2)).tolist() == [0.0, 0.0]
    else:
        assert shown(compiled(x)) == shown(program(x))
