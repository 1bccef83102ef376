"""Gradients of the program's own operators through the formulas given to register_autograd(), plain and compiled."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.operators_with_formulas import array, halves, joined, leaf, operator, scaled_pair, sine
from minidynamo._dynamo.testing import CompileCounter
from minidynamo.library import opcheck

BACKENDS = ("eager", "llvm", "blocks")


# --- plain calls ------------------------------------------------------------------------------------------------------


def test_the_formula_brings_the_gradient():
    x = leaf(1, 2, 3)
    y = sine()(x)
    assert y.requires_grad and not y.is_leaf
    assert y.grad_fn.name().startswith("GeneratedBackwardFor_opgrad_op") and y.grad_fn.name().endswith(
        "_defaultBackward"
    )
    y.sum().backward()
    assert torch.allclose(x.grad, x.detach().cos())


def test_it_is_the_derivative():
    x = torch.randn(4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(sine(), (x,))
    assert torch.autograd.gradgradcheck(sine(), (x,))


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_nothing_is_recorded_without_gradients(mode):
    called = []
    op = operator(
        "(Tensor x) -> Tensor",
        lambda x: torch.from_numpy(array(x) * 2),
        lambda ctx, g: g,
        lambda ctx, inputs, output: called.append(inputs),
    )
    with mode():
        assert not op(leaf(1)).requires_grad
    assert not op(leaf(1, wanted=False)).requires_grad
    assert called == []
    op(leaf(1))
    assert len(called) == 1


def test_gradients_are_off_in_the_kernel_and_in_setup():
    modes = []

    def compute(x):
        modes.append((torch.is_grad_enabled(), x.requires_grad))
        return x * 2

    op = operator(
        "(Tensor x) -> Tensor",
        compute,
        lambda ctx, g: g * 7,
        lambda ctx, inputs, output: modes.append(torch.is_grad_enabled()),
    )
    x = leaf(1)
    op(x).sum().backward()
    assert modes == [(False, True), False] and x.grad.tolist() == [7]  # of the formula, not of what the kernel calls


def test_several_results_and_other_arguments():
    op, seen = scaled_pair()
    x, y = leaf(1, 2), leaf(3, 4, wanted=False)
    a, b, c = op(x, 3, y)
    assert [t.requires_grad for t in (a, b, c)] == [True, True, False]
    a.sum().backward()
    assert x.grad.tolist() == [3, 3] and y.grad is None
    wanted, of_a, of_b, of_c = seen[0]
    assert wanted == (True, False, False, False)
    assert of_a.tolist() == [1, 1] and of_b.tolist() == [0, 0] and of_c.dtype is torch.bool


def test_lists_of_arguments():
    op, seen = joined()
    x, y, z = leaf(1, 2), leaf(3, wanted=False), leaf(4, 5, 6)
    op([x, y, z], 2).sum().backward()
    assert x.grad.tolist() == [2, 2] and y.grad is None and z.grad.tolist() == [2, 2, 2]
    assert seen == [((True, False, True, False), ([True, False, True], False))]
    op((x, y, z), 2).sum().backward()
    assert x.grad.tolist() == [4, 4]


def test_lists_of_results():
    x = leaf(1, 2, 3)
    first, rest = halves()(x)
    (first.sum() * 2 + rest.sum()).backward()
    assert x.grad.tolist() == [6, 3, 3]
    x = leaf(1, 2, 3)
    halves()(x)[0].sum().backward()
    assert x.grad.tolist() == [3, 0, 0]


def test_arguments_by_keyword_only():
    def setup(ctx, inputs, keyword_only_inputs, output):
        ctx.by = keyword_only_inputs["by"]
        assert len(inputs) == 1

    op = operator(
        "(Tensor x, *, float by=2.0) -> Tensor",
        lambda x, *, by=2.0: torch.from_numpy(array(x) * np.float32(by)),
        lambda ctx, g: g * ctx.by,
        setup,
    )
    for given, factor in (({}, 2), ({"by": 5.0}, 5)):
        x = leaf(1, 1)
        op(x, **given).sum().backward()
        assert x.grad.tolist() == [factor, factor]


def test_an_optional_argument():
    op = operator(
        "(Tensor x, Tensor? b=None) -> Tensor",
        lambda x, b=None: torch.from_numpy(array(x) + (0 if b is None else array(b))),
        lambda ctx, g: (g, g if ctx.needs_input_grad[1] else None),
    )
    x, b = leaf(1), leaf(2)
    op(x).backward()
    op(x, b).backward()
    assert x.grad.item() == 2 and b.grad.item() == 1


def test_what_setup_may_ask_of_the_context():
    def compute(x):
        return torch.from_numpy(array(x) * 1), torch.from_numpy(array(x) * 2)

    got = []
    op = operator(
        "(Tensor x) -> (Tensor, Tensor)",
        compute,
        lambda ctx, a, b: got.append(b) or a,
        lambda ctx, inputs, output: ctx.mark_non_differentiable(output[1]),
    )
    a, b = op(leaf(1))
    assert a.requires_grad and not b.requires_grad
    op.register_autograd(
        lambda ctx, a, b: got.append(b) or a,
        setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False),
    )
    op(leaf(1))[0].backward()
    assert got == [None]


def test_a_saved_result():
    op = operator(
        "(Tensor x) -> Tensor",
        lambda x: torch.from_numpy(np.exp(array(x))),
        lambda ctx, g: g * ctx.saved_tensors[0],
        lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    x = leaf(0, 1)
    op(x).sum().backward()
    assert torch.allclose(x.grad, x.detach().exp())
    (g,) = torch.autograd.grad(op(x).sum(), x, create_graph=True)
    assert torch.allclose(torch.autograd.grad(g.sum(), x)[0], x.detach().exp())


def test_saved_tensors_are_guarded():
    op = sine()
    y = op(leaf(1))
    y.backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()
    x = leaf(1) * 1
    y = op(x)
    x.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.backward()


def test_a_later_formula_replaces_an_earlier_one():
    op = sine()
    op.register_autograd(lambda ctx, g: g * 5)
    x = leaf(1)
    op(x).backward()
    assert x.grad.item() == 5


@pytest.mark.parametrize(
    "returned, matches",
    [
        (lambda g: g, "incorrect number of gradients"),
        (lambda g: [g, g], "incorrect number of gradients|same structure"),
        (lambda g: (g, g, g), "different than None at position 3"),
        (lambda g: (g, 1.0), "Tensors or None"),
        (lambda g: ([g], g), "same structure"),
        (lambda g: (g[:1], g), "shape"),
    ],
)
def test_what_a_formula_may_not_return(returned, matches):
    op = operator(
        "(Tensor x, Tensor y) -> Tensor",
        lambda x, y: torch.from_numpy(array(x) + array(y)),
        lambda ctx, g: returned(g),
    )
    with pytest.raises(RuntimeError, match=matches):
        op(leaf(1, 2), leaf(3, 4)).sum().backward()


@pytest.mark.parametrize(
    "returned, first",
    [
        (lambda g: (None, g), None),
        (lambda g: (g, g, None), [1, 1]),
        (lambda g: (g.expand(3, 2), g), [3, 3]),
        (lambda g: (g.double(), g), [1, 1]),
    ],
)
def test_what_a_formula_may_return(returned, first):
    op = operator(
        "(Tensor x, Tensor y) -> Tensor",
        lambda x, y: torch.from_numpy(array(x) + array(y)),
        lambda ctx, g: returned(g),
    )
    x, y = leaf(1, 2), leaf(3, 4)
    op(x, y).sum().backward()
    assert (x.grad if first is None else x.grad.tolist()) == first and y.grad.tolist() == [1, 1]


@pytest.mark.parametrize("returned", [lambda p: (tuple(p), None), lambda p: (*p, None), lambda p: (p[:1], None)])
def test_gradients_of_a_list_are_a_list_as_long(returned):
    op = operator(
        "(Tensor[] xs, int n) -> Tensor",
        lambda xs, n: torch.from_numpy(np.concatenate([array(x) for x in xs])),
        lambda ctx, g: returned(list(g.split(1))),
    )
    with pytest.raises(RuntimeError, match="same structure|incorrect number"):
        op([leaf(1), leaf(2)], 1).sum().backward()


# --- compiled ---------------------------------------------------------------------------------------------------------


def gradients_of(function, make):
    inputs = make()
    result = function(*inputs)
    result.backward()
    return result.tolist(), [None if t.grad is None else t.grad.tolist() for t in inputs]


def compiled_cases():
    sin, (pair, _), (join, _), split = sine(), scaled_pair(), joined(), halves()
    return {
        "one": lambda x, y: (sin(x * 2) * y).sum(),
        "twice": lambda x, y: (sin(sin(x) + y) * x).sum(),
        "several results": lambda x, y: pair(x, 3, y)[0].sum() + (pair(x, 2, y, 4.0)[1] * x).sum(),
        "a list": lambda x, y: (join([x, y * 2, x], 3) ** 2).sum(),
        "a list back": lambda x, y: split(x * y)[1].sum() + split(y)[0].sum(),
    }


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", compiled_cases())
def test_compiled_gradients_are_the_plain_ones(name, backend):
    function = compiled_cases()[name]

    def make():
        return leaf(0.5, 1.5, 2.5), leaf(3, -1, 2)

    compiled = torch.compile(function, backend=backend, fullgraph=True)
    value, grads = gradients_of(function, make)
    for _ in range(2):
        got, found = gradients_of(compiled, make)
        assert got == pytest.approx(value, rel=1e-5)
        for a, b in zip(found, grads):
            assert a == pytest.approx(b, rel=1e-5)


def test_compiled_it_stays_one_node():
    counter = CompileCounter()
    sin = sine()
    torch.compile(lambda x: sin(x * 2) + 1, backend=counter, fullgraph=True)(leaf(1)).backward()
    assert (counter.frame_count, counter.op_count) == (1, 3)


def test_compiled_second_derivatives():
    sin = sine()

    def second(f):
        x = leaf(0.5, 1)
        (g,) = torch.autograd.grad(f(x), x, create_graph=True)
        return torch.autograd.grad(g.sum(), x)[0]

    assert torch.allclose(second(torch.compile(lambda x: (sin(x) * x).sum())), second(lambda x: (sin(x) * x).sum()))


def test_compiled_without_a_formula():
    op = operator("(Tensor x) -> Tensor", lambda x: torch.from_numpy(array(x) * 2))
    op.register_fake(torch.empty_like)
    y = torch.compile(lambda x: op(x + 1).sum(), fullgraph=True)(leaf(1))
    with pytest.raises(RuntimeError, match="register_autograd"):
        y.backward()


# --- opcheck ----------------------------------------------------------------------------------------------------------


def test_opcheck_runs_the_formula():
    assert set(opcheck(sine(), (leaf(1, 2),)).values()) == {"SUCCESS"}
    op, _ = joined()
    assert set(opcheck(op, ([leaf(1), leaf(2, 3)], 2)).values()) == {"SUCCESS"}


@pytest.mark.parametrize(
    "backward, setup",
    [
        (lambda ctx, g: (g, g), None),
        (lambda ctx, g: 1.0, None),
        (lambda ctx, g: ctx.missing, None),
        (lambda ctx, g: g[:1], None),
        (lambda ctx, g: g, lambda ctx, a, b: None),
    ],
)
@pytest.mark.parametrize("wanted", [True, False])
def test_opcheck_finds_formulas_that_fail(backward, setup, wanted):
    op = sine()
    op.register_autograd(backward, setup_context=setup)
    result = opcheck(op, (leaf(1, 2, wanted=wanted),), raise_exception=False)
    assert isinstance(result["test_autograd_registration"], Exception)


def test_opcheck_without_tensors_that_can_have_a_gradient():
    op = operator("(Tensor x) -> Tensor", lambda x: torch.from_numpy(array(x) * 2), lambda ctx, g: g)
    op.register_fake(torch.empty_like)
    assert "no argument" in opcheck(op, (torch.tensor([1, 2]),))["test_autograd_registration"]
