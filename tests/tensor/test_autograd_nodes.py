"""Nodes of the record of operations: their objects, names, hooks, what they keep, and where gradients are hooked."""

import pytest

import minidynamo as torch
from minidynamo import nn
from minidynamo.autograd import Function, grad
from minidynamo.autograd.graph import GradientEdge, Node, get_gradient_edge


def leaf(*values):
    return torch.tensor(values, requires_grad=True)


class Pair(Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2, x * 3

    @staticmethod
    def backward(ctx, a, b):
        return a * 2 + b * 3


def test_one_object_and_one_type_for_each_name():
    x = leaf(1.0, 2.0)
    y = x * 2
    assert y.grad_fn is y.grad_fn and type(y.grad_fn).__name__ == "MulBackward0" == y.grad_fn.name()
    assert type((x * 3).grad_fn) is type(y.grad_fn) and isinstance(y.grad_fn, Node)
    assert repr(y.grad_fn).startswith("<MulBackward0 object at 0x")
    (leaf_node, number), of_number = y.grad_fn.next_functions
    assert of_number == (None, 0)
    assert leaf_node is (x + 1).grad_fn.next_functions[0][0] and number == 0
    assert type(leaf_node).__name__ == "AccumulateGrad" and leaf_node.variable is x
    assert not hasattr(y.grad_fn, "variable") and y.grad_fn.requires_grad
    with pytest.raises(AttributeError):
        y.grad_fn.anything = 1
    for kind in (Node, type(y.grad_fn)):
        with pytest.raises(TypeError):
            kind()
    (like,) = y.grad_fn._input_metadata
    assert like.shape == (2,) and like.dtype is torch.float32 and like.device.type == "cpu"
    assert y.grad_fn(torch.ones(2)).tolist() == [2.0, 2.0]


def test_metadata_lives_as_long_as_the_node():
    y = leaf(1.0) * 2
    y.grad_fn.metadata["a"] = 1
    assert y.grad_fn.metadata == {"a": 1} and y.grad_fn.metadata is y.grad_fn.metadata


def test_which_result():
    x = leaf(3.0, 1.0, 2.0)
    values, indices = x.sort()
    assert values.output_nr == 0 and indices.grad_fn is None and x.output_nr == 0
    assert [each.output_nr for each in Pair.apply(x)] == [0, 1]


# --- Hooks of nodes --------------------------------------------------------------------------------------------------


def test_the_order_of_hooks():
    seen = []
    x = leaf(1.0, 2.0)
    y = x * 2
    node = y.grad_fn
    accumulate = node.next_functions[0][0]
    for n, name in ((node, "mul"), (accumulate, "leaf")):
        n.register_hook(lambda gi, go, name=name: seen.append((name, [g.tolist() for g in gi], go[0].tolist())))
        n.register_prehook(lambda go, name=name: seen.append((name, "before", go[0].tolist())))
    y.register_hook(lambda g: seen.append(("y", g.tolist())))
    x.register_hook(lambda g: seen.append(("x", g.tolist())))
    x.register_post_accumulate_grad_hook(lambda t: seen.append(("added", t is x, t.grad.tolist())))
    want = [
        ("y", [1.0, 1.0]),
        ("mul", "before", [1.0, 1.0]),
        ("mul", [[2.0, 2.0]], [1.0, 1.0]),
        ("x", [2.0, 2.0]),
        ("leaf", "before", [2.0, 2.0]),
        ("added", True, [2.0, 2.0]),
        ("leaf", [], [2.0, 2.0]),
    ]
    z = y.sum()
    z.backward(retain_graph=True)
    assert seen == want
    seen.clear()
    x.grad = None
    torch.autograd.backward(z, inputs=[x], retain_graph=True)
    assert seen == want
    seen.clear()
    assert grad(z, [x, y], retain_graph=True)[0].tolist() == [2.0, 2.0]
    assert seen == want[:4]


def through(**hooks):
    x = leaf(1.0, 2.0)
    y = x * 2
    if "after" in hooks:
        y.grad_fn.register_hook(hooks["after"])
    if "before" in hooks:
        y.grad_fn.register_prehook(hooks["before"])
    if "tensor" in hooks:
        y.register_hook(hooks["tensor"])
    if "leaf" in hooks:
        x.register_hook(hooks["leaf"])
    y.sum().backward()
    return None if x.grad is None else x.grad.tolist()


def test_hooks_that_replace():
    assert through(after=lambda gi, go: (gi[0] * 10,)) == [20.0, 20.0]
    assert through(before=lambda go: (go[0] * 10,)) == [20.0, 20.0]
    assert through(after=lambda gi, go: (None,)) is None and through(before=lambda go: (None,)) is None
    assert through(tensor=lambda g: g * 10) == through(leaf=lambda g: g * 10) == [20.0, 20.0]


@pytest.mark.parametrize(
    "answer, error, text",
    [
        (lambda g: torch.ones(3), RuntimeError, "changed the size"),
        (lambda g: torch.ones(1), RuntimeError, "changed the size"),
        (lambda g: g.double(), RuntimeError, "changed the type"),
        (lambda g: g.int(), RuntimeError, "changed the type"),
        (lambda g: g.to("meta"), RuntimeError, "changed the type"),
        (lambda g: 5, TypeError, "int"),
    ],
)
def test_replacements_that_do_not_fit(answer, error, text):
    for where in ("tensor", "leaf"):
        with pytest.raises(error, match=text):
            through(**{where: answer})
    with pytest.raises(error, match=text):
        through(before=lambda go: (answer(go[0]),))
    with pytest.raises(error, match=text):
        through(after=lambda gi, go: (answer(gi[0]),))


@pytest.mark.parametrize("answer", [lambda g, *_: g[0], lambda g, *_: [g[0]], lambda g, *_: 5])
def test_hooks_of_nodes_give_tuples(answer):
    for where in ("before", "after"):
        with pytest.raises(TypeError, match="expected tuple"):
            through(**{where: answer})
        with pytest.raises(RuntimeError, match=r"got 3, but expected 1"):
            through(**{where: lambda g, *_: (g[0],) * 3})


def test_a_retained_gradient_is_of_what_was_written_last():
    x = leaf(1.0, 2.0)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append(g.tolist()))
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    assert y.grad.tolist() == [1.0, 1.0] and seen == [[3.0, 3.0]] and x.grad.tolist() == [6.0, 6.0]


def test_hooks_are_taken_away():
    seen = []
    y = leaf(1.0) * 2
    handle = y.grad_fn.register_hook(lambda *g: seen.append(1))
    y.backward(retain_graph=True)
    handle.remove()
    y.backward()
    assert seen == [1]


def test_hooks_of_leaves_count_for_chosen_gradients():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g * 10)
    assert grad((x * 2).sum(), x)[0].tolist() == [20.0, 20.0]
    (x * 2).sum().backward(inputs=[x])
    assert x.grad.tolist() == [20.0, 20.0]


def test_hooks_off_the_way_do_not_run():
    x, w = leaf(1.0), leaf(2.0)
    w.register_hook(lambda g: pytest.fail("w"))
    u = w * 2
    u.register_hook(lambda g: pytest.fail("u"))
    u.retain_grad()
    assert grad(u * x, x)[0].tolist() == [4.0] and u.grad is None


def test_a_leaf_is_itself_in_its_hooks():
    class Parameter(torch.nn.Parameter):
        pass

    p = Parameter(torch.ones(2))
    table = {p: "found"}
    p.register_post_accumulate_grad_hook(lambda t: table.__setitem__("seen", table[t]))
    (p * 2).sum().backward()
    assert table["seen"] == "found" and (p * 1).grad_fn.next_functions[0][0].variable is p


# --- What is kept ----------------------------------------------------------------------------------------------------


def test_what_a_node_keeps():
    x = leaf(1.0, 2.0)
    y = x.exp()
    kept = y.grad_fn._saved_result
    assert kept.tolist() == y.tolist() and kept is not y and kept.grad_fn is y.grad_fn
    assert y.grad_fn._raw_saved_result.unpack().tolist() == y.tolist()
    square = x * x
    assert square.grad_fn._saved_self.tolist() == [1.0, 2.0]
    assert not hasattr((x + 1).grad_fn, "_saved_self")
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.grad_fn._saved_result  # noqa: B018


FREE = {
    "add": lambda x: x + 1,
    "sub": lambda x: 1 - x,
    "sum": lambda x: x.sum(),
    "mean": lambda x: x.mean(),
    "neg": lambda x: -x,
    "view": lambda x: x.view(2, 1),
    "index": lambda x: x[0],
    "slice": lambda x: x[1:],
    "clone": lambda x: x.clone(),
    "cat": lambda x: torch.cat([x, x]),
    "cumsum": lambda x: x.cumsum(0),
    "transpose": lambda x: x.view(2, 1).t(),
    "times a number": lambda x: x * 2,
    "expand": lambda x: x.expand(3, 2),
}
NEEDS = {
    "mul": lambda x: x * x,
    "times a constant": lambda x: x * torch.ones(2),
    "relu": lambda x: x.relu(),
    "exp": lambda x: x.exp(),
    "by index": lambda x: x[torch.tensor([0])],
    "where": lambda x: torch.where(torch.tensor([True, False]), x, x),
    "mm": lambda x: x.view(1, 2) @ torch.ones(2, 2),
    "softmax": lambda x: x.softmax(0),
}


@pytest.mark.parametrize("f", FREE.values(), ids=FREE)
def test_again_without_anything_kept(f):
    x = leaf(1.0, 2.0)
    y = f(x)
    y.backward(torch.ones_like(y))
    first = x.grad.tolist()
    y.backward(torch.ones_like(y))
    assert x.grad.tolist() == [2 * g for g in first]


@pytest.mark.parametrize("f", NEEDS.values(), ids=NEEDS)
def test_not_again_with_something_kept(f):
    x = leaf(1.0, 2.0)
    y = f(x)
    y.backward(torch.ones_like(y), retain_graph=True)
    y.backward(torch.ones_like(y))
    with pytest.raises(RuntimeError, match="second time"):
        y.backward(torch.ones_like(y))


def test_writes_to_what_is_not_read():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = (y + 1) * 2
    y.mul_(5)
    z.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]
    y = x * 1
    z = y.relu()
    y.add_(1)  # relu reads its result
    z.sum().backward()
    y = x * 1
    z = y * torch.ones(2)  # reads the other operand only
    y.add_(1)
    z.sum().backward()
    z = y.relu()
    z.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


# --- Edges -----------------------------------------------------------------------------------------------------------


def test_edges_made_by_hand():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = (y * y).sum()
    assert grad(GradientEdge(z.grad_fn, 0), x, retain_graph=True)[0].tolist() == [8.0, 16.0]
    assert grad(z, GradientEdge(y.grad_fn, 0), retain_graph=True)[0].tolist() == [4.0, 8.0]
    assert grad(GradientEdge(y.grad_fn, 0), x, torch.ones(2), retain_graph=True)[0].tolist() == [2.0, 2.0]
    with pytest.raises(RuntimeError, match="only for scalar outputs"):
        grad(GradientEdge(y.grad_fn, 0), x, retain_graph=True)
    with pytest.raises(RuntimeError, match=r"shape of \[3\] and output\[0\] has a shape of \[2\]"):
        grad(GradientEdge(y.grad_fn, 0), x, torch.ones(3), retain_graph=True)
    with pytest.raises(RuntimeError, match="none has the number 5"):
        grad(z, GradientEdge(y.grad_fn, 5), retain_graph=True)
    with pytest.raises(RuntimeError, match="not have been used"):
        grad(z, GradientEdge((x * 3).grad_fn, 0), retain_graph=True)
    with pytest.raises(RuntimeError, match="GradientEdge"):
        grad(z, GradientEdge((x * 3).grad_fn, 0), retain_graph=True, materialize_grads=True)
    (rows,) = grad(GradientEdge(y.grad_fn, 0), x, torch.eye(2), retain_graph=True, is_grads_batched=True)
    assert rows.tolist() == [[2.0, 0.0], [0.0, 2.0]]
    torch.autograd.backward(z, inputs=[get_gradient_edge(x)], retain_graph=True)
    torch.autograd.backward(GradientEdge(z.grad_fn, 0), retain_graph=True)
    assert x.grad.tolist() == [16.0, 32.0]
    assert grad(get_gradient_edge(x), x, torch.ones(2))[0].tolist() == [1.0, 1.0]


def test_nothing_among_roots_and_inputs():
    x = leaf(1.0)
    y = x * 2
    for roots, inputs in [((None,), (x,)), ((y,), (None,)), ((y,), (5,)), ((y,), ((None, 0),))]:
        with pytest.raises(TypeError):
            torch._C._run_backward(roots, (None,), False, False, inputs, False)
    with pytest.raises(RuntimeError, match="gradients"):
        torch._C._run_backward((y,), (), False, False, (), False)


def test_inputs_named_twice():
    x = leaf(1.0)
    (x * 2).backward(inputs=[x, x])
    y = x * 3
    (y * 2).backward(inputs=[y, y])
    assert x.grad.tolist() == [2.0] and y.grad.tolist() == [2.0]


@pytest.mark.parametrize("dtype", [torch.int64, torch.float64, torch.bool])
def test_gradients_of_other_dtypes_are_converted(dtype):
    x = leaf(1.0, 2.0)
    (x * 2).backward(torch.ones(2, dtype=dtype))
    assert x.grad.dtype is torch.float32 and x.grad.tolist() == [2.0, 2.0]


def test_integers_have_none():
    x, whole = leaf(1.0, 2.0), torch.tensor([1, 2])
    assert not x.int().requires_grad and not (x > 1).requires_grad
    with pytest.raises(RuntimeError, match="floating"):
        whole.requires_grad_()
    with pytest.raises(RuntimeError, match="does not require grad"):
        whole.sum().backward()
    with pytest.raises(RuntimeError, match="does not require grad"):
        grad((x * x).sum(), whole)
    with pytest.raises(RuntimeError):
        x.grad = whole
    (x * whole).sum().backward()
    assert x.grad.tolist() == [1.0, 2.0]


# --- Views -----------------------------------------------------------------------------------------------------------


def test_views_know_their_base():
    a = torch.ones(4)
    views = [a[0], a[1:], a.view(2, 2), a.view(2, 2).t(), a.view_as(a), a.expand(2, 4), a.unbind()[0], a.reshape(2, 2)]
    assert all(v._is_view() and v._base is a for v in views)
    for other in (a, a * 2, a.detach(), a.data, a[[0, 1]], a.contiguous(), a.view(2, 2) @ torch.ones(2, 2)):
        assert not other._is_view() and other._base is None
    x = leaf(1.0, 2.0)
    with torch.no_grad():
        assert x[1:]._base is x
    with pytest.raises(AttributeError):
        a._base = a


def test_writes_through_views_of_plain_tensors():
    x, total = leaf(1.0, 2.0), torch.zeros(3)
    part = total[1:]
    part.add_(x)
    assert total.requires_grad and total.grad_fn.name() == "CopySlices" and part.grad_fn.name() == "AsStridedBackward0"
    (total * torch.tensor([5.0, 10.0, 100.0])).sum().backward()
    assert x.grad.tolist() == [10.0, 100.0]


def test_views_taken_before_their_base_required_grad():
    x, total = leaf(1.0, 2.0, 3.0, 4.0), torch.zeros(4)
    view = total.view(2, 2)
    assert not view.requires_grad and view.is_leaf
    total.copy_(x * 2)
    assert view.requires_grad and not view.is_leaf and view.grad_fn.name() == "AsStridedBackward0"
    (view * view).sum().backward()
    assert x.grad.tolist() == [8.0, 16.0, 24.0, 32.0]
    total = torch.zeros(4)
    first = total[:2]
    total.requires_grad_()
    (first * 3).sum().backward()
    assert total.grad.tolist() == [3.0, 3.0, 0.0, 0.0]


def test_a_part_of_a_tensor_in_another_order():
    x = leaf(1.0, 2.0)
    total = torch.zeros(3, 2).t() * 1
    assert total.stride() == (1, 2)
    total[1][1:].add_(x)
    (total * torch.arange(6.0).view(2, 3)).sum().backward()
    assert x.grad.tolist() == [4.0, 5.0]


def test_detached_in_place():
    x = leaf(1.0, 2.0)
    y = x * 2
    z = (y * 3).sum()
    y.detach_()
    assert y.grad_fn is None and not y.requires_grad
    y.requires_grad_()
    ((y * 5).sum() + z).backward()
    assert y.grad.tolist() == [5.0, 5.0] and x.grad.tolist() == [6.0, 6.0]


def test_under_way():
    seen = []
    y = leaf(1.0) * 2
    y.grad_fn.register_prehook(lambda g: seen.append(torch._C._current_autograd_node() is y.grad_fn))
    y.backward()
    assert seen == [True] and torch._C._current_autograd_node() is None


class Same(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.mine = 7
        return x * 1

    @staticmethod
    def backward(ctx, g):
        return g * ctx.mine


def test_the_node_of_a_function_shows_its_context():
    x = leaf(1.0)
    y = Same.apply(x)
    node = y.grad_fn
    assert type(node).__name__ == node.name() == "SameBackward" and node is y.grad_fn
    assert node.mine == 7 and node.saved_tensors[0] is x and node.needs_input_grad == (True,)
    node.mine = 8
    node.other = 9
    assert node.__dict__["other"] == 9 and not hasattr(node, "absent")
    y.backward()
    assert x.grad.tolist() == [8.0]
    with pytest.raises(RuntimeError, match="second time"):
        node.saved_tensors  # noqa: B018


@pytest.mark.parametrize(
    "f",
    [
        torch.relu,
        torch.abs,
        nn.functional.leaky_relu,
        nn.functional.hardtanh,
        nn.functional.relu6,
        lambda x: x.clamp(-0.5, 0.5),
        lambda x: x.amax(1),
        lambda x: nn.functional.max_pool1d(x, 2),
        lambda x: nn.functional.max_pool1d(x, 2, return_indices=True)[0],
        lambda x: nn.functional.adaptive_max_pool1d(x, 2),
    ],
)
def test_the_slope_of_what_is_piecewise_linear_has_gradients_of_zeros(f):
    x = torch.tensor([[0.3, -0.7, 1.2, -2.0], [0.1, 0.2, -0.4, 3.0]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    assert slope.requires_grad and slope.grad_fn is not None
    (second,) = torch.autograd.grad(slope.sum(), x)
    assert second.shape == x.shape and not second.any()


@pytest.mark.parametrize("f", [lambda x: x.max(1)[0], lambda x: x.sort(1)[0], lambda x: x.cummax(1)[0]])
def test_the_slope_of_what_is_picked_is_constant(f):
    x = torch.tensor([[0.3, -0.7, 1.2], [0.1, 0.2, -0.4]], dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
    assert not slope.requires_grad


def test_a_laplacian_through_relu():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1)).double()
    x = torch.rand(5, 2, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(net(x).sum(), x, create_graph=True)
    laplacian = sum(torch.autograd.grad(slope[:, i].sum(), x, create_graph=True)[0][:, i] for i in range(2))
    assert not laplacian.any()
    (laplacian.square().mean() + slope.square().mean()).backward()
    assert net[0].weight.grad.any()


def test_the_slope_of_what_is_linear_needs_no_gradient():
    x = torch.ones(3, requires_grad=True)
    (slope,) = torch.autograd.grad((x * 2 + 1).sum(), x, create_graph=True)
    assert not slope.requires_grad


def test_max_pooling_finds_its_positions_once():
    x = torch.rand(1, 1, 4, 4, requires_grad=True)
    values, _ = nn.functional.max_pool2d(x, 2, return_indices=True)
    assert nn.functional.max_pool2d(x, 2).grad_fn.name() == values.grad_fn.name()
    assert nn.functional.max_pool2d(x.detach(), 2).equal(values)
