"""What modes with __torch_function__ are shown: calls of the program, not what the library does inside of them."""

import minidynamo as torch
from minidynamo.nn import init
from minidynamo.overrides import TorchFunctionMode
from minidynamo.utils.checkpoint import checkpoint


class Seen(TorchFunctionMode):
    def __init__(self):
        self.seen = []

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.seen.append(func)
        return func(*args, **(kwargs or {}))


def seen(call):
    with Seen() as mode:
        call()
    return mode.seen


X = torch.ones(2, 2)


@torch.library.custom_op("what_overrides_see::times", mutates_args=())
def times(x: torch.Tensor, k: float) -> torch.Tensor:
    return x * k


@times.register_fake
def _(x, k):
    return torch.empty_like(x)


class Plain(torch.Tensor):
    pass


class Noted(torch.Tensor):
    notes = []

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.notes.append(str(func))
        return super().__torch_function__(func, types, args, kwargs or {})


def test_functions_as_a_whole():
    for function in (torch.linalg.inv, torch.linalg.svd, torch.fft.fft, torch.fft.rfft2):
        assert seen(lambda function=function: function(X + torch.eye(2)))[-1] is function
    assert seen(lambda: torch.linalg.det(X)) == [torch.linalg.det]


def test_initialisation():
    given = torch.empty(2, 2)
    for function, rest in ((init.uniform_, ()), (init.normal_, ()), (init.constant_, (3.0,))):
        assert seen(lambda function=function, rest=rest: function(given, *rest))[0] is function
    assert seen(lambda: init.kaiming_uniform_(given))[0] is init.kaiming_uniform_
    assert init.constant_(given.as_subclass(Plain), 2.0).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_operators():
    assert [str(func) for func in seen(lambda: times(X, 2.0))] == ["what_overrides_see.times.default"]
    x = X.as_subclass(Noted)
    calls = [
        (lambda: times(x, 2.0), "what_overrides_see.times.default"),
        (lambda: torch.ops.what_overrides_see.times(x, 2.0), "what_overrides_see.times"),
        (lambda: torch.ops.aten.mul.Tensor(x, 2.0), "aten.mul.Tensor"),
        (lambda: torch.ops.aten.mul(x, 2.0), "aten.mul"),
    ]
    for call, name in calls:
        Noted.notes.clear()
        assert type(call()) is Noted
        assert Noted.notes == [name]
    Noted.notes.clear()
    made = torch.compile(lambda x: times(x, 3.0), backend="eager", fullgraph=True)(x)
    assert type(made) is Noted and made.tolist() == [[3.0, 3.0], [3.0, 3.0]]


def test_transforms():
    names = [func.__name__ for func in seen(lambda: torch.vmap(torch.sin)(X))]
    names += [func.__name__ for func in seen(lambda: torch.func.grad(lambda a: a.sum())(X))]
    assert not any(name.startswith("_") and name not in ("__get__", "_set_grad_enabled") for name in names)
    assert not seen(torch.is_grad_enabled) and not seen(lambda: torch.manual_seed(0))


def test_transforms_of_instances():
    x = X.as_subclass(Plain)
    classes = []

    def f(a):
        classes.append(type(a))
        return a * 2

    for call in (
        lambda: torch.vmap(f)(x),
        lambda: torch.func.grad(lambda a: f(a).sum())(x),
        lambda: torch.func.vjp(f, x)[1](X)[0],
        lambda: torch.func.jacrev(f)(x),
    ):
        assert type(call()) is torch.Tensor
    assert set(classes) == {torch.Tensor}
    compiled = torch.compile(lambda x: torch.vmap(torch.sin)(x), backend="eager", fullgraph=True)
    assert type(compiled(x)) is torch.Tensor


def test_a_mode_from_outside_is_entered():
    mode = Seen()

    @torch.compile(backend="eager", fullgraph=True)
    def f(x):
        with mode:
            y = torch.exp(x)
        return y + 1

    f(X)
    assert mode.seen == [torch.exp]
    f(X)
    assert mode.seen == [torch.exp, torch.exp]


def test_a_checkpoint_repeats_its_autocast():
    for reentrant in (False, True):
        x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = checkpoint(lambda t: t @ t, x, use_reentrant=reentrant)
        assert y.dtype is torch.bfloat16
        y.sum().backward()
        assert x.grad.tolist() == [[7.0, 11.0], [9.0, 13.0]]


def test_keywords_come_where_there_are_some():
    given = []

    class Three(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            given.append(kwargs)
            return super().__torch_function__(func, types, args, kwargs)

    x = X.as_subclass(Three)
    _ = x + 1, x.sum(dim=0), x[0], x.shape
    assert given == [None, {"dim": 0}, None, None]


def test_a_handler_that_is_a_method_of_instances():
    class Around:
        def __init__(self, inside):
            self.inside = inside

        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(self.inside, *args[1:], **(kwargs or {}))

    assert torch.add(Around(X), 1).tolist() == [[2.0, 2.0], [2.0, 2.0]]
