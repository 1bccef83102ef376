"""Which operators may have a formula for their gradient, and what backward() does where there is none."""

import itertools
import warnings

import pytest

import minidynamo as torch
from frontend.operators_with_formulas import array, leaf, operator
from minidynamo.library import Library, custom_op, register_autograd
from minidynamo.utils._python_dispatch import TorchDispatchMode

_numbers = itertools.count()


# --- without a formula ------------------------------------------------------------------------------------------------


def test_backward_through_an_operator_without_a_formula():
    op = operator("(Tensor x) -> Tensor", lambda x: x * 2)
    y = op(leaf(1))
    assert y.requires_grad
    with pytest.raises(RuntimeError, match=r"opgrad\.op\d+\.default.*register_autograd"):
        y.backward()


def library_with(kernel, key):
    number = next(_numbers)
    library = Library("opgradlib", "FRAGMENT")
    library.define(f"f{number}(Tensor x) -> Tensor")
    library.impl(f"f{number}", kernel, key)
    return library, f"f{number}", getattr(torch.ops.opgradlib, f"f{number}")


def test_a_kernel_of_a_library_lets_gradients_through_with_a_warning():
    _, _, op = library_with(lambda x: x * 2, "CPU")
    x = leaf(1)
    y = op(x)
    with pytest.warns(UserWarning, match="opgradlib::f.*register_autograd"):
        y.backward()
    assert x.grad.item() == 2
    _, _, op = library_with(lambda x: torch.from_numpy(array(x) * 2), "CPU")
    y = op(x)
    assert y.requires_grad
    with pytest.warns(UserWarning, match="register_autograd"):
        y.backward()
    assert x.grad.item() == 2


def test_composites_are_differentiable():
    _, _, op = library_with(lambda x: x * 2, "CompositeImplicitAutograd")
    x = leaf(1)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        op(x).backward()
    assert x.grad.item() == 2


def test_a_formula_for_an_operator_of_a_library():
    _, name, op = library_with(lambda x: torch.from_numpy(array(x) * 2), "CPU")
    register_autograd(f"opgradlib::{name}", lambda ctx, g: g * 9)
    x = leaf(1)
    op(x).backward()
    assert x.grad.item() == 9


@pytest.mark.parametrize("key", ["Autograd", "AutogradCPU"])
def test_a_kernel_for_autograd_comes_first(key):
    class Seven(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 7

    library, name, op = library_with(lambda x: x.detach() * 3, "CPU")
    library.impl(name, Seven.apply, key)
    x = leaf(1)
    y = op(x)
    y.backward()
    assert y.item() == 2 and x.grad.item() == 7
    with torch.inference_mode():
        assert op(x).item() == 3


# --- which operators may have one -------------------------------------------------------------------------------------


def test_operators_that_are_not_functional():
    @custom_op("opgrad::write", mutates_args={"x"})
    def write(x: torch.Tensor, y: torch.Tensor) -> None:
        x.detach().add_(y.detach())

    with pytest.raises(RuntimeError, match="non-functional"):
        write.register_autograd(lambda ctx: None)
    for number, schema in enumerate(("(Tensor(a!) x) -> ()", "(Tensor(a) x) -> Tensor(a)", "(Tensor x) -> ()")):
        torch.library.define(f"opgrad::impure{number}", schema)
        with pytest.raises(RuntimeError, match="non-functional"):
            register_autograd(f"opgrad::impure{number}", lambda ctx, g: g)


def test_written_arguments_keep_their_history():
    @custom_op("opgrad::write_and_give", mutates_args={"x"})
    def write_and_give(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.add_(y)
        return y * 2

    x, y = leaf(1, wanted=False), leaf(3)
    out = write_and_give(x, y)
    assert out.requires_grad and not x.requires_grad and x.item() == 4
    with pytest.raises(RuntimeError, match="register_autograd"):
        out.backward()
    root = leaf(1)
    x = root * 2
    square = x * x
    write_and_give(x, leaf(1, wanted=False))
    x.sum().backward(retain_graph=True)
    assert root.grad.item() == 2
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        square.backward()


def test_tensors_by_keyword_only():
    def f(x: torch.Tensor, *, w: torch.Tensor) -> torch.Tensor:
        return x * w

    with pytest.raises(NotImplementedError, match="keyword"):
        custom_op("opgrad::keyword", f, mutates_args=())
    torch.library.define("opgrad::keyword", "(Tensor x, *, Tensor w) -> Tensor")
    with pytest.raises(NotImplementedError, match="keyword"):
        register_autograd("opgrad::keyword", lambda ctx, g: g)


def test_an_operator_that_is_not_there():
    with pytest.raises(AttributeError, match="opgrad::nowhere"):
        register_autograd("opgrad::nowhere", lambda ctx, g: g)


def test_operators_go_with_their_library():
    def twice_in(scale):
        library = Library("gonelib", "FRAGMENT")
        library.define("scaled(Tensor x) -> Tensor")
        library.impl("scaled", lambda x: x * scale, "CPU")
        return torch.compile(lambda x: torch.ops.gonelib.scaled(x), backend="eager")(torch.ones(2)).tolist()

    assert [twice_in(k) for k in (2, 3)] == [[2.0, 2.0], [3.0, 3.0]]
    assert not hasattr(torch.ops.gonelib, "scaled")
    with torch.library._scoped_library("gonelib", "DEF") as library:
        torch.library.define("gonelib::scaled", "(Tensor x) -> Tensor", lib=library)
        assert hasattr(torch.ops.gonelib, "scaled")
    assert not hasattr(torch.ops.gonelib, "scaled")


def test_what_classes_with_handlers_say_to_an_operator():
    @torch.library.custom_op("classes_say::double", mutates_args=())
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    class Mode(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    class Below(Mode):
        pass

    asked = []

    @double.register_torch_dispatch(Mode)
    def _(mode, func, types, args, kwargs):
        asked.append(type(mode))
        return func(*args, **kwargs) * 3

    with Mode():
        assert double(torch.ones(1)).tolist() == [6.0]
        assert (torch.ones(1) * 2).tolist() == [2.0]
    with Below():
        assert double(torch.ones(1)).tolist() == [2.0]
    assert asked == [Mode]
    with pytest.raises(RuntimeError, match="already"):
        torch.library.register_torch_dispatch("classes_say::double", Mode, lambda *args: None)
    with pytest.raises(TypeError, match="takes a class"):
        torch.library.register_torch_dispatch("classes_say::double", Mode(), lambda *args: None)
