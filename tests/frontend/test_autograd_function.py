"""autograd.Function: apply runs forward, traced in place; what it returns requires grad where torch's would."""

import pytest

import minidynamo as torch
from frontend.differential import same
from minidynamo._dynamo.testing import EagerAndRecordGraphs


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, factor):
        ctx.factor = factor
        ctx.save_for_backward(x)
        assert not torch.is_grad_enabled() or not x.requires_grad
        return x * factor

    @staticmethod
    def backward(ctx, grad):
        return grad * ctx.factor, None


class Apart(torch.autograd.Function):
    """Two steps: forward without a context, which setup_context fills."""

    @staticmethod
    def forward(x, y):
        return x + y, x > y, 7

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.count = len(inputs)


class Same(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x


class Inplace(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)


def leaf(requires_grad=True):
    return (torch.tensor([1.0, -2.0], requires_grad=requires_grad),)


@pytest.mark.parametrize("requires_grad", [True, False])
def test_forward_is_traced_in_place(requires_grad):
    def f(x):
        y = Scale.apply(x, 3) + 1
        return y, y.requires_grad

    same(f, lambda: leaf(requires_grad), frames=1, breaks=[])
    assert f(*leaf(requires_grad))[1] is requires_grad


def test_graph_without_gradients_has_the_forwards_ops_only():
    backend = EagerAndRecordGraphs()
    torch._dynamo.reset()
    torch.compile(lambda x: Scale.apply(x, 3) + 1, backend=backend, fullgraph=True)(*leaf(False))
    calls = [n.target.__name__ for n in backend.graphs[0].graph.nodes if n.op.startswith("call")]
    assert calls == ["mul", "add"]


@pytest.mark.parametrize("requires_grad", [True, False])
def test_own_setup_and_outputs_of_all_kinds(requires_grad):
    def f(x):
        total, larger, number = Apart.apply(x, x.detach() * 2)
        return total, larger, number, total.requires_grad, larger.requires_grad

    same(f, lambda: leaf(requires_grad), frames=1, breaks=[])


def test_input_handed_back_is_another_tensor():
    def f(x):
        y = Same.apply(x)
        return y is x, y.requires_grad, y + 1

    same(f, leaf, frames=1, breaks=[])
    assert f(*leaf())[0] is False


def test_input_changed_in_place():
    def f(x):
        x = x * 1
        y = Inplace.apply(x)
        return y + x

    same(f, lambda: leaf(False), frames=1, breaks=[])


def test_gradients_switched_off_outside():
    def f(x):
        with torch.no_grad():
            return Scale.apply(x, 2).requires_grad, Scale.apply(x, 2)

    same(f, leaf, frames=1, breaks=[])


def test_keywords_and_names():
    def f(x):
        return Scale.apply(x, factor=4)

    same(f, leaf, frames=1, breaks=[])


def test_what_eager_says():
    with pytest.warns(DeprecationWarning, match="Scale.apply"):
        made = Scale()
    with pytest.raises(RuntimeError, match="Scale.apply"):
        made(torch.ones(2), 3)
    with pytest.raises(NotImplementedError):
        torch.autograd.Function.apply(torch.ones(2))
    context = torch.autograd.function.FunctionCtx()
    with pytest.raises(TypeError, match="save_for_backward"):
        context.save_for_backward(3)
    context.save_for_backward(torch.ones(1), None)
    assert len(context.saved_tensors) == 2 and context.needs_input_grad == ()
    context.maybe_clear_saved_tensors()
    assert context.saved_tensors == ()
    assert torch.autograd.function.once_differentiable(leaf).__name__ == "leaf"
    x = torch.ones(2)
    y = torch.autograd.Variable(x, requires_grad=True)
    assert y.requires_grad and not x.requires_grad and y.data_ptr() == x.data_ptr()


def test_saving_what_is_no_tensor_raises_in_traced_code_too():
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            try:
                ctx.save_for_backward(x, "text")
            except TypeError:
                return x * 2
            return x

    same(lambda x: Wrong.apply(x) + 0, leaf, frames=1, breaks=[])


def test_comptime_prints_while_compiling(capsys):
    comptime = torch._dynamo.comptime.comptime

    def f(x):
        y = x + 1
        comptime.print_graph()
        comptime.print_locals()
        comptime.print_bt()
        return y * 2

    x = torch.ones(2)
    f(x)
    assert capsys.readouterr().out == ""
    torch._dynamo.reset()
    compiled = torch.compile(f, fullgraph=True)
    assert compiled(x).tolist() == f(x).tolist()
    out = capsys.readouterr().out
    assert 'y: "f32[2]" = l_x_ + 1' in out and "x = TensorVariable()\ny = TensorVariable()" in out
    assert f"in {f.__name__}\n    comptime.print_bt()" in out
    compiled(x)
    assert capsys.readouterr().out == ""


def test_comptime_calls_a_function_or_its_fallback():
    comptime, seen = torch._dynamo.comptime.comptime, []

    def look(context):
        seen.append(type(context).__name__)

    def plainly():
        seen.append("plain")

    def f(x):
        comptime(look, plainly)
        return x + 1

    f(torch.ones(2))
    torch._dynamo.reset()
    torch.compile(f, fullgraph=True)(torch.ones(2))
    assert seen == ["plain", "ComptimeContext"]


@pytest.mark.parametrize("compiled", [False, True])
def test_hooks_that_forward_puts_on_its_node(compiled):
    log = []

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.register_hook(lambda inputs, outputs: log.append((inputs[0].tolist(), outputs[0].tolist())))
            ctx.register_prehook(lambda outputs: (outputs[0] * 5,))
            ctx.register_hook(lambda inputs, outputs: (inputs[0] * 3,)).remove()
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            with pytest.raises(RuntimeError, match="is recorded"):
                ctx.register_hook(print)
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    f = torch.compile(Doubled.apply) if compiled else Doubled.apply
    f(x).sum().backward()
    assert x.grad.tolist() == [10, 10] and log == [([10, 10], [5, 5])]


@pytest.mark.parametrize("backend", ["eager", "aot_eager", "llvm"])
def test_forwards_run_under_the_region_of_autocast_they_are_called_in(backend):
    class Asks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2 if torch.is_autocast_enabled("cpu") else x * 3

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Cast(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=torch.float32)
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx, g):
            return g * 2

    def on(x):
        with torch.autocast("cpu"):
            return Asks.apply(x), Cast.apply(x @ x)

    def off(x):
        with torch.autocast("cpu", enabled=False):
            return Asks.apply(x), Cast.apply(x @ x)

    for f, outside in ((on, False), (off, False), (off, True)):
        torch._dynamo.reset()
        a, b = (torch.ones(2, 2).requires_grad_() for _ in range(2))
        with torch.autocast("cpu", enabled=outside):
            expected, found = f(a), torch.compile(f, backend=backend, fullgraph=True)(b)
        assert [t.dtype for t in found] == [t.dtype for t in expected]
        assert [t.tolist() for t in found] == [t.tolist() for t in expected]
        sum(t.sum() for t in expected).backward()
        sum(t.sum() for t in found).backward()
        assert torch.equal(a.grad, b.grad)


def test_a_forward_with_effects_outside_has_gradients():
    calls = []

    class Counted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            calls.append(1)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 2

    compiled = torch.compile(lambda x: Counted.apply(x + 1) * 3, backend="eager")
    x = torch.ones(2).requires_grad_()
    for n in (1, 2):
        x.grad = None
        compiled(x).sum().backward()
        assert x.grad.tolist() == [6, 6]
        assert len(calls) == n
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(lambda x: Counted.apply(x + 1) * 3, fullgraph=True)(x)


class Part(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x[:2]

    @staticmethod
    def backward(ctx, g):
        return torch.cat([g, g * 0])


class Both(Part):
    @staticmethod
    def forward(ctx, x):
        return x[:2], x[2:]

    @staticmethod
    def backward(ctx, a, b):
        return torch.cat([a, b])


class AsItIs(Part):
    @staticmethod
    def forward(ctx, x):
        return x

    @staticmethod
    def backward(ctx, g):
        return g * 3


class Fresh(Part):
    @staticmethod
    def forward(ctx, x):
        return (x * 2)[:2]


@pytest.mark.parametrize("function", [Part, Both, AsItIs])
@pytest.mark.parametrize("write", [lambda a: a.mul_(5), lambda a: a[0].mul_(5), lambda a: a.__setitem__(0, 7.0)])
def test_results_that_show_memory_of_an_argument(function, write):
    """The write would reach the argument past backward(): torch refuses it as well."""

    def f(x):
        y = x * 1
        a = function.apply(y)
        write(a[0] if isinstance(a, tuple) else a)
        return (y * y).sum()

    for each in (f, torch.compile(f, backend="eager")):
        torch._dynamo.reset()
        with pytest.raises(RuntimeError, match="is a view and is being modified inplace"):
            each(torch.ones(4, requires_grad=True))


def test_results_with_memory_of_their_own():
    x = torch.ones(4, requires_grad=True)
    a = Fresh.apply(x * 1)
    a.mul_(5)
    assert torch.autograd.grad((a * a).sum(), x)[0].tolist() == [100.0, 100.0, 0.0, 0.0]
