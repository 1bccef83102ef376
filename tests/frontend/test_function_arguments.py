"""Compiled calls of autograd.Function with arguments other than tensors and numbers: values and gradients as in plain
Python."""

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter
from minidynamo.overrides import TorchFunctionMode


class Plain(torch.Tensor):
    pass


class AsCosine(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        if func is torch.sin:
            return torch.cos(args[0].as_subclass(torch.Tensor))
        return super().__torch_function__(func, types, args, kwargs or {})


class Cosines(TorchFunctionMode):
    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {})) if func is not torch.sin else torch.cos(*args)


class Times(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, of):
        ctx.save_for_backward(x)
        ctx.of = of
        return x * x * factor(of)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g * factor(ctx.of), None


class Shaped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, shape, dtype):
        return x.reshape(shape).to(dtype)

    @staticmethod
    def backward(ctx, g):
        return g.reshape(-1).to(torch.float32) * 2, None, None


class Through(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, function):
        return function(x)

    @staticmethod
    def backward(ctx, g):
        return g * 3, None


class Cast(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.as_subclass(Plain)

    @staticmethod
    def backward(ctx, g):
        return g * 3


class WithDefaults(torch.autograd.Function):
    @staticmethod
    def forward(x, shape, scale=2.0):
        return (x * scale).reshape(shape)

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, _, ctx.scale = inputs
        ctx.shape = x.shape

    @staticmethod
    def backward(ctx, g):
        return g.reshape(ctx.shape) * ctx.scale, None, None


class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, part, steps):
        return x[part] * len(steps)

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g, g]), None, None


class Holder:
    v = 2.0


def factor(of):
    if isinstance(of, dict):
        return of["k"]
    if isinstance(of, (list, tuple)):
        return sum(of)
    return of.v if isinstance(of, Holder) else of


HOLDER = Holder()
LINEAR = torch.nn.Linear(3, 3)
CAPTURED = torch.tensor([3.0, 4.0, 5.0])


def times_captured(x):
    return x * CAPTURED


def under_a_mode(x):
    with Cosines():
        return Through.apply(x, torch.sin)


def after_a_change(x):
    HOLDER.v = HOLDER.v + 1
    return Times.apply(x, HOLDER)


# function of a tensor that requires grad, how many graphs
CALLS = [
    (lambda x: Times.apply(x, [1, 2]), 1),
    (lambda x: Times.apply(x, (1, 2.5)), 1),
    (lambda x: Times.apply(x, {"k": 4}), 1),
    (lambda x: Times.apply(x, HOLDER), 1),
    (lambda x: Times.apply(x, x.shape[0]), 1),
    (lambda x: Shaped.apply(x, (3, 1), torch.float64), 1),
    (lambda x: Shaped.apply(x, [x.shape[0], 1], torch.float32) + 1, 1),
    (lambda x: Through.apply(x, torch.sin), 1),
    (lambda x: Through.apply(x, LINEAR), 1),
    (lambda x: Times.apply(x.as_subclass(Plain), 3), 1),
    (lambda x: WithDefaults.apply(x, (3, 1)), 1),
    (lambda x: WithDefaults.apply(x, x.shape, 3.0) + WithDefaults.apply(x, torch.Size([3])), 1),
    (lambda x: WithDefaults.apply(x[None], x[None].shape[::-1]), 1),
    (lambda x: Part.apply(torch.cat([x, x]), slice(0, 3), range(2)), 1),
    (lambda x: Through.apply(x + 1, times_captured), 1),
    (lambda x: Cast.apply(x * 2), 1),
    (lambda x: Through.apply(x.as_subclass(AsCosine), torch.sin), None),  # calls are answered by others: plain Python
    (under_a_mode, None),
    (after_a_change, None),
]


@pytest.mark.parametrize("row", range(len(CALLS)))
def test_as_plain_python(row):
    f, graphs = CALLS[row]
    torch._dynamo.reset()
    counter = CompileCounter()

    def seen(call):
        HOLDER.v = 2.0
        x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
        y = call(x)
        y.sum().backward()
        return type(y).__name__, y.dtype, y.tolist(), x.grad.tolist(), HOLDER.v

    expected = seen(f)
    compiled = torch.compile(f, backend=counter, fullgraph=graphs is not None)
    assert seen(compiled) == expected
    assert seen(compiled) == expected
    assert graphs is None or counter.frame_count == graphs


def test_an_object_is_the_one_that_was_given():
    f = torch.compile(lambda x, o: Times.apply(x, o), backend="eager")
    for v in (2.0, 2.0, 5.0):
        holder = Holder()
        holder.v = v
        x = torch.ones(2, requires_grad=True)
        f(x, holder).sum().backward()
        assert x.grad.tolist() == [2 * v, 2 * v]


def test_effects_of_forward():
    calls = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            calls.append("forward")
            return x * 2

        @staticmethod
        def backward(ctx, g):
            calls.append("backward")
            return g * 7

    f = torch.compile(lambda x: Counted.apply(x) + 1, backend="eager")
    x = torch.ones(2, requires_grad=True)
    f(x).sum().backward()
    assert calls == ["forward", "backward"]
    assert x.grad.tolist() == [7.0, 7.0]
