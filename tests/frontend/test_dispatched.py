"""Compiled functions on tensors with __torch_dispatch__: results as in plain Python, and as many graphs as torch 2.13
makes (recorded)."""

import pathlib
import pickle
import sys

import pytest

import minidynamo as torch
import minidynamo.nn.functional as F  # noqa: N812  it is called so everywhere
from minidynamo._dynamo.testing import CompileCounter

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "python"))
from dispatched_classes import Log, Scaled, Slotted, Two, asked, seen  # noqa: E402


def numbers(*shape):
    count = 1
    for n in shape:
        count *= n
    return torch.arange(count, dtype=torch.float32).reshape(shape)


def two(*shape):
    return Two(numbers(*shape), numbers(*shape) + 1)


def with_gradient(f):
    def call(x):
        x.requires_grad_()
        y = f(x)
        y.sum().backward()
        return y, x.grad

    return call


def in_place(x):
    x.add_(1)
    return x * 2


def of_a_part(x):
    y = x[0]
    y.add_(5)
    return y


def scaled_twice(x):
    y = x * 2
    y.mul_(3)
    return y


# (function, arguments, operations in the graph), fullgraph
WHOLE = [
    (lambda x: x * 2 + x, lambda: [two(3)], 2),
    (lambda x, y: x @ y + 1, lambda: [two(2, 3), numbers(3, 2)], 2),
    (in_place, lambda: [two(3)], 2),
    (of_a_part, lambda: [two(2, 3)], 2),
    (lambda x: x.a + x.b, lambda: [two(3)], 1),
    (lambda x: (x * 2).a, lambda: [two(3)], 2),
    (lambda a, b: Two(a, b) * 2, lambda: [numbers(3), numbers(3)], 2),
    (lambda x: x.view(6).sum(), lambda: [two(2, 3)], 2),
    (lambda x: x + 1 if isinstance(x, Two) else x - 1, lambda: [two(3)], 1),
    (lambda x: x * 3 + 1, lambda: [Scaled(numbers(3), 2.0)], 2),
    (lambda x: x * 3, lambda: [Scaled(numbers(3), 2.0)], 1),
    (lambda x: x * 2, lambda: [Two(two(3), two(3))], 1),
    (lambda x: torch.cat([x, x]).relu(), lambda: [two(3)], 2),
    (lambda x: [x * 2, {"k": x}], lambda: [two(3)], 1),
    (lambda x: F.softmax(x, -1), lambda: [two(2, 3)], 1),
    (lambda x: x.to(torch.float64), lambda: [two(3)], 1),
    (lambda x: torch.ops.aten.mul.Tensor(x, x), lambda: [two(3)], 1),
    (lambda x: x.max(1).values, lambda: [two(2, 3)], None),
    (lambda x: torch.stack([t * 2 for t in x.unbind(0)]), lambda: [two(2, 3)], None),
    (lambda x: x.T.contiguous().reshape(-1), lambda: [two(2, 3)], 3),
    (lambda x: torch.fft.rfft(x).abs(), lambda: [two(4)], None),
    (lambda x: torch.fft.ifft2(torch.fft.fft2(x)).real, lambda: [two(2, 2)], None),
    (lambda x: torch.linalg.inv(x + torch.eye(2)), lambda: [two(2, 2)], None),
    (lambda x: torch.complex(x, x).angle(), lambda: [two(3)], None),
]


@pytest.mark.parametrize("row", range(len(WHOLE)))
@pytest.mark.parametrize("backend", ["count", "inductor"])
def test_one_graph(row, backend):
    f, arguments, ops = WHOLE[row]
    torch._dynamo.reset()
    counter = CompileCounter()
    plain, given = arguments(), arguments()
    expected = f(*plain)
    compiled = torch.compile(f, backend=counter if backend == "count" else backend, fullgraph=True)
    assert seen(compiled(*given)) == seen(expected)
    assert seen(given) == seen(plain)
    assert seen(compiled(*arguments())) == seen(expected)
    if backend == "count":
        assert counter.frame_count == 1
        assert ops is None or counter.op_count == ops


@pytest.mark.parametrize("f", [lambda x: x * x, lambda x: x.exp().sin(), scaled_twice])
def test_gradients(f):
    expected = with_gradient(f)(two(3))
    assert seen(with_gradient(torch.compile(f, fullgraph=True))(two(3))) == seen(expected)


def test_what_an_instance_is_made_of_is_guarded():
    torch._dynamo.reset()
    counter = CompileCounter()
    f = torch.compile(lambda x: x * 3, backend=counter)
    for scale in (2.0, 5.0, 2.0):
        assert f(Scaled(numbers(2), scale)).scale == 3 * scale
    assert counter.frame_count == 2
    assert f(numbers(2)).tolist() == [0.0, 3.0]
    assert counter.frame_count == 3


def test_a_class_that_cannot_be_taken_apart():
    f = torch.compile(lambda x: x * 2, backend="eager")
    assert seen(f(Slotted(numbers(2)))) == seen(Slotted(numbers(2) * 2))


def test_training():
    def losses(compile):
        layer = torch.nn.Linear(3, 2)
        with torch.no_grad():
            layer.weight.fill_(0.5), layer.bias.zero_()
        layer.weight = torch.nn.Parameter(Two(layer.weight.detach(), layer.weight.detach() + 1))
        assert isinstance(layer.weight, torch.nn.Parameter) and type(layer.weight) is Two
        optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
        forward, found = compile(layer), []
        for _ in range(3):
            loss = forward(numbers(4, 3)).sum()
            found.append(seen(loss))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        return found

    assert losses(torch.compile) == losses(lambda layer: layer)


def asked_in_each(f, arguments, calls=3):
    """What handlers were asked in each call, with the results."""
    found = []
    for _ in range(calls):
        asked.clear()
        result = seen(f(*arguments()))
        found.append((result, list(asked)))
    return found


OPENED = [
    (lambda x: x * 2 + x, lambda: [two(3)]),
    (lambda x, y: x @ y + 1, lambda: [two(2, 3), numbers(3, 2)]),
    (in_place, lambda: [two(3)]),
    (of_a_part, lambda: [two(2, 3)]),
    (lambda a, b: Two(a, b) * 2, lambda: [numbers(3), numbers(3)]),
    (lambda x: (x * 2).a, lambda: [two(3)]),
    (lambda x: x * 2, lambda: [Two(two(3), two(3))]),
    (lambda x: F.softmax(x, -1), lambda: [two(2, 3)]),
    (lambda x: [t.sum() for t in x.unbind(0)], lambda: [two(2, 3)]),
    (lambda x: (x, x.view(-1), x + 0), lambda: [two(2, 3)]),
    (lambda x: x + torch.randn(3), lambda: [two(3)]),
]


@pytest.mark.parametrize("row", range(len(OPENED)))
@pytest.mark.parametrize("backend", ["inductor", "aot_eager"])
def test_handlers_are_asked_while_compiling_only(row, backend):
    """As torch's aot_eager and inductor; with "eager" they are asked in each run."""
    f, arguments = OPENED[row]
    torch._dynamo.reset()
    torch.manual_seed(1)
    expected = asked_in_each(f, arguments)
    torch.manual_seed(1)
    found = asked_in_each(torch.compile(f, backend=backend, fullgraph=True), arguments)
    assert [r for r, _ in found] == [r for r, _ in expected]
    assert [a for _, a in found[1:]] == [[], []]
    torch.manual_seed(1)
    eager = asked_in_each(torch.compile(f, backend="eager", fullgraph=True), arguments)
    assert eager[1:] == expected[1:]


@pytest.mark.parametrize("f", [lambda x: x * x, lambda x: x.exp().sin(), lambda x: F.softmax(x, 0) @ x])
def test_gradients_ask_no_handler(f):
    def calls(f):
        for _ in range(2):
            x = two(3)
            x.requires_grad_()
            asked.clear()
            y = f(x)
            forward = list(asked)
            grads = Two(torch.full((3,), 2.0), torch.ones(3)) if y.dim() else Two(torch.tensor(2.0), torch.tensor(1.0))
            asked.clear()
            y.backward(grads)
            found = seen([y, x.grad]), forward, list(asked)
        return found

    torch._dynamo.reset()
    expected, _, _ = calls(f)
    result, forward, backward = calls(torch.compile(f, fullgraph=True))
    assert result == expected
    assert forward == [] and set(backward) <= {"aten.clone.default", "aten.detach.default"}


class Rebinding(Two):
    """Writes in place by another inner tensor."""

    @staticmethod
    def __tensor_unflatten__(inner, context, outer_size, outer_stride):
        return Rebinding(inner["a"], inner["b"], outer_size, outer_stride)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.add_.Tensor:
            asked.append(str(func))
            args[0].a = args[0].a + args[1]
            return args[0]
        return super().__torch_dispatch__(func, types, args, kwargs)


class Reading(Rebinding):
    """Lets elements decide."""

    @staticmethod
    def __tensor_unflatten__(inner, context, outer_size, outer_stride):
        return Reading(inner["a"], inner["b"], outer_size, outer_stride)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        if func is torch.ops.aten.mul.Tensor:
            asked.append(str(func))
            return args[0].a.numpy().sum() + args[0].b
        return super().__torch_dispatch__(func, types, args, kwargs)


def test_what_only_a_run_can_tell_is_asked_in_each():
    def written(x):
        x.add_(1)
        return x * 2

    torch._dynamo.reset()
    x, y = Rebinding(numbers(2), numbers(2)), Rebinding(numbers(2), numbers(2))
    f = torch.compile(written)
    for _ in range(2):
        assert seen(f(x)) == seen(written(y))
    assert seen(x) == seen(y)
    g = torch.compile(lambda x: x * 2)
    for k in range(3):
        assert g(Reading(numbers(2) + k, numbers(2))).tolist() == [1.0 + 2 * k, 2.0 + 2 * k]


class Tagged(torch.Tensor):
    pass


@pytest.mark.parametrize("make", [two, lambda n: numbers(n).as_subclass(Tagged)])
@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_gradients_are_assigned_to_the_instance(make, backend):
    def assigns(x):
        x.grad = x.detach() * 2
        return x * 1

    def forgets(x):
        x.grad = None
        return x * 1

    torch._dynamo.reset()
    plain, x = make(3).requires_grad_(), make(3).requires_grad_()
    assigns(plain)
    torch.compile(assigns, backend=backend, fullgraph=True)(x)
    assert seen(x.grad) == seen(plain.grad) and type(x.grad) is type(x)
    torch.compile(forgets, backend=backend, fullgraph=True)(x)
    assert x.grad is None


def test_a_compiled_step_of_training():
    def run(compile):
        weight = torch.nn.Parameter(two(3))
        optimizer = torch.optim.SGD([weight], lr=0.1)

        def step():
            loss = (weight * weight).sum()
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            return loss

        step = compile(step)
        return [seen(step()) for _ in range(3)], seen(weight), weight.grad

    torch._dynamo.reset()
    assert run(torch.compile) == run(lambda f: f)


def test_fullgraph_under_a_mode():
    """Nothing would be compiled there; torch refuses it, too."""
    f = torch.compile(lambda x: x * 2, fullgraph=True)
    with Log() as log:
        with pytest.raises(RuntimeError, match="called under Log"):
            f(torch.ones(2))
        assert torch.compile(lambda x: x * 2)(torch.ones(2)).tolist() == [2.0, 2.0]
    assert [c for c in log.calls if "mul" in c] == ["aten.mul.Tensor ['T', 2]"]
    assert f(torch.ones(2)).tolist() == [2.0, 2.0]


def test_wrappers_are_pickled_by_their_attributes():
    x = pickle.loads(pickle.dumps(two(2, 3).requires_grad_()))
    assert seen(x) == seen(two(2, 3).requires_grad_()) and x.stride() == (3, 1)
    assert seen(torch.compile(lambda x: x + 1)(x)) == seen(x + 1)


class Summing(torch.Tensor):
    def sum(self, *args):
        return super().sum(*args) + 100


def test_a_method_overridden_calls_tensors_own():
    f = torch.compile(lambda x: x.sum(0), backend="eager", fullgraph=True)
    assert f(numbers(3).as_subclass(Summing)).tolist() == 103.0


@pytest.mark.parametrize(
    "arguments", [lambda a: [Two(a, a)], lambda a: [Two(a, a + 1), a], lambda a: [Two(a[:2], a[1:])]]
)
def test_inner_tensors_that_share_memory(arguments):
    def f(x, *others):
        x.add_(1)
        return x * 2, [o * 3 for o in others]

    torch._dynamo.reset()
    compiled = torch.compile(f)
    for _ in range(2):
        plain, a = numbers(3), numbers(3)
        assert seen(compiled(*arguments(a))) == seen(f(*arguments(plain)))
        assert a.tolist() == plain.tolist()
        compiled(two(3))


@torch.library.custom_op("dispatched::chosen", mutates_args=())
def chosen(x: torch.Tensor) -> torch.Tensor:
    return x[x > 0]


@chosen.register_fake
def _(x):
    return x.new_empty(torch.library.get_ctx().new_dynamic_size())


def test_codes_of_handlers_that_cannot_be_asked():
    class OfItself(Two):
        @classmethod
        def __tensor_unflatten__(cls, inner, context, outer_size, outer_stride):
            return cls(inner["a"], inner["b"], outer_size, outer_stride)

    class Refusing(OfItself):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            raise NotImplementedError(f"no {func}")

    class Choosing(OfItself):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return args[0].a + (1 if args[0].b.sum() > 3 else 2)

    class Sizing(OfItself):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return chosen(args[0].a)

    for cls, code in ((Refusing, "GB0087"), (Choosing, "GB0033"), (Sizing, "GB0036")):
        torch._dynamo.reset()
        with pytest.raises(torch._dynamo.exc.Unsupported) as error:
            torch.compile(lambda x: x * 2, fullgraph=True)(cls(numbers(2), numbers(2)))
        assert code in str(error.value)
    f = torch.compile(lambda x: x * 2)
    assert [f(Choosing(numbers(2), numbers(2) * k)).tolist() for k in (1, 9)] == [[2.0, 3.0], [1.0, 2.0]]


def test_inner_tensors_are_guarded():
    torch._dynamo.reset()
    counter = CompileCounter()
    f = torch.compile(lambda x: x * 2, backend=counter)
    for b in (numbers(2), numbers(2).double(), numbers(2)):
        assert seen(f(Two(numbers(2), b))) == seen(Two(numbers(2) * 2, b * 2))
    assert counter.frame_count == 2 and counter.op_count == 2


def test_a_class_that_is_put_together_as_another():
    """Its base's: torch refuses it with an assertion; here the handler of the class itself is asked in each run."""

    class Doubling(Two):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            made = super().__torch_dispatch__(func, types, args, kwargs)
            return made.a if func is torch.ops.aten.mul.Tensor else made

    f = torch.compile(lambda x: x * 2)
    assert [seen(f(Doubling(numbers(2), numbers(2) + 1))) for _ in range(2)] == [seen(numbers(2) * 2)] * 2


def test_operators_of_the_program():
    """Handlers are asked about them; in a handler they are called in each run, as everywhere."""
    calls = []

    @torch.library.custom_op("dispatched::thrice", mutates_args=())
    def thrice(x: torch.Tensor) -> torch.Tensor:
        calls.append(1)
        return x * 3

    thrice.register_fake(torch.empty_like)
    asked.clear()
    assert seen(thrice(two(3))) == seen(two(3) * 3) and "dispatched.thrice" in asked[0] and len(calls) == 2

    class Thrice(Rebinding):
        @classmethod
        def __tensor_unflatten__(cls, inner, context, outer_size, outer_stride):
            return cls(inner["a"], inner["b"], outer_size, outer_stride)

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return thrice(args[0].a)

    f = torch.compile(lambda x: x * 2)
    for k in range(3):
        calls.clear()
        assert f(Thrice(numbers(2) + k, numbers(2))).tolist() == [3.0 * k, 3.0 * (k + 1)]
        assert k == 0 or len(calls) == 1


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_an_inner_tensor_is_replaced(backend):
    def f(x):
        x.a = x.a * 2
        return x + 1

    torch._dynamo.reset()
    plain, x = two(3), two(3)
    compiled = torch.compile(f, backend=backend)
    for _ in range(2):
        assert seen(compiled(x)) == seen(f(plain))
        assert seen(x) == seen(plain)
