"""What is a leaf of autograd, what was computed, and what may be done to either: as torch, but for the gradients."""

import copy
import pickle
import re
import warnings

import pytest

import minidynamo as torch
from frontend.differential import codes, same

LEAF = "a leaf Variable that requires grad is being used in an in-place operation"
VIEW = "a view of a leaf Variable that requires grad is being used in an in-place operation"
UNTRACKED = "A view was created in no_grad mode"


def leaf():
    return torch.ones(3, requires_grad=True)


def without_grad(f, *args):
    with torch.no_grad():
        return f(*args)


def written(z, value):
    z[0] = value
    return z


COMPUTED = {
    "pointwise": lambda x: x * 2,
    "broadcast": lambda x: x + torch.ones(2, 3),
    "reduction": lambda x: x.sum(),
    "named results": lambda x: x.max(0).values,
    "view": lambda x: x[0:2],
    "view of a view": lambda x: x.view(3, 1).t(),
    "clone": lambda x: x.clone(),
    "copy to another dtype": lambda x: x.to(torch.float64),
    "composite": lambda x: torch.softmax(x, 0),
    "joined": lambda x: torch.stack([torch.zeros(3), x]),
    "product": lambda x: x @ torch.ones(3),
    "index": lambda x: x[torch.tensor([0, 2])],
    "mask": lambda x: x[x > 0],
    "in place": lambda x: torch.zeros(3).add_(x),
    "assigned": lambda x: written(torch.zeros(3), x[1]),
    "scatter": lambda x: torch.zeros(3).index_add_(0, torch.tensor([0, 1, 2]), x),
    "a computed one changed": lambda x: (x * 2).mul_(3),
    "module": lambda x: torch.nn.Linear(3, 2)(x.detach()),
    "subclass": lambda x: x.as_subclass(torch.nn.Parameter),
}
LEAVES = {
    "itself": lambda x: x,
    "handed back": lambda x: x.contiguous(),
    "detached": lambda x: x.detach(),
    "data": lambda x: x.data,
    "compared": lambda x: x > 0,
    "positions": lambda x: x.max(0).indices,
    "asked for": lambda x: torch.zeros_like(x, requires_grad=True),
    "of no gradient": lambda x: torch.ones(3) * 2,
    "parameter": lambda x: torch.nn.Parameter(x * 2),
    "without gradients": lambda x: without_grad(lambda: x * 2),
    "written without gradients": lambda x: without_grad(lambda: torch.zeros(3).add_(x)),
    "integers": lambda x: torch.zeros(3, dtype=torch.int64).copy_(x),
    "detached in place": lambda x: (x * 2).detach_(),
}
BREAKS = {
    "mask": {"GB0036"},
    "module": {"GB0125"},
    "subclass": {"GB0001"},  # the results of whose instances are plain tensors
    "parameter": {"GB0125"},
    "detached in place": {"GB0156"},
}


# What torch calls the nodes of those that are one op there.
NODES = {
    "pointwise": "MulBackward0",
    "broadcast": "AddBackward0",
    "reduction": "SumBackward0",
    "named results": "MaxBackward0",
    "view": "SliceBackward0",
    "view of a view": "TBackward0",
    "clone": "CloneBackward0",
    "composite": "SoftmaxBackward0",
    "index": "IndexBackward0",
    "mask": "IndexBackward0",
    "in place": "AddBackward0",
    "assigned": "CopySlices",
    "scatter": "IndexAddBackward0",
    "a computed one changed": "MulBackward0",
    "module": "ViewBackward0",
}


def without_node(text):
    """Of a compiled function one node goes back through everything."""
    return re.sub(r"grad_fn=<\w+>", "grad_fn", text)


@pytest.mark.parametrize("name", COMPUTED)
def test_computed(name):
    y = COMPUTED[name](leaf())
    assert y.requires_grad and not y.is_leaf
    node = NODES.get(name)
    assert y.grad_fn is not None and (
        node is None or (y.grad_fn.name(), repr(y.grad_fn).split()[0]) == (node, f"<{node}")
    )
    assert len(y.grad_fn.next_functions) > 0 and (f"grad_fn=<{y.grad_fn.name()}>" in repr(y)) == (name != "subclass")
    y.sum().backward()
    for wrong in (True, False):
        with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
            y.requires_grad = wrong
    assert y.requires_grad_() is y
    with pytest.raises(RuntimeError, match="only change requires_grad flags of leaf"):
        y.requires_grad_(False)
    if name == "subclass":  # of Parameter, whose copies are leaves always
        assert copy.deepcopy(y).is_leaf
    else:
        with pytest.raises(RuntimeError, match="deepcopy protocol"):
            copy.deepcopy(y)
    assert copy.deepcopy(y.detach()).is_leaf and pickle.loads(pickle.dumps(y)).is_leaf


@pytest.mark.parametrize("name", LEAVES)
def test_leaves(name):
    y = LEAVES[name](leaf())
    assert y.is_leaf and y.grad_fn is None and "grad_fn" not in repr(y)
    assert copy.deepcopy(y).requires_grad == y.requires_grad


@pytest.mark.parametrize("name", {**COMPUTED, **LEAVES})
def test_compiled_outputs_are_what_plain_ones_are(name):
    f = {**COMPUTED, **LEAVES}[name]
    torch.manual_seed(0)
    wanted = f(leaf())
    for backend in ("eager", "llvm"):
        torch._dynamo.reset()
        torch._dynamo.utils.counters.clear()
        compiled = torch.compile(f, backend=backend)
        for _ in range(2):
            torch.manual_seed(0)
            y = compiled(leaf())
            assert codes() == BREAKS.get(name, set())
            assert (y.requires_grad, y.is_leaf) == (wanted.requires_grad, wanted.is_leaf)
            assert without_node(repr(y)) == without_node(repr(wanted))
            compiled_again = torch.compile(lambda y: y[0:1] if y.dim() else y, backend=backend)(y)
            assert compiled_again.is_leaf == (wanted[0:1] if wanted.dim() else wanted).is_leaf


def reads(x):
    y = x * 2
    return y + x, x.is_leaf, y.is_leaf, y[0].is_leaf, x.detach().is_leaf, y.requires_grad, x.grad_fn is None


def test_traced_code_knows_leaves():
    same(reads, lambda: (leaf(),), frames=1, breaks=[])
    same(reads, lambda: (leaf() * 2,), breaks=["GB0104"])
    same(reads, lambda: (torch.ones(3),), frames=1, breaks=[])
    compiled = torch.compile(lambda x: (x + 1, x.is_leaf))
    assert [compiled(x)[1] for x in (leaf(), leaf() * 2, leaf()[0:3], torch.ones(3))] == [True, False, False, True]


def test_grad_fn_breaks():
    def f(x):
        y = x * 2
        if y.grad_fn is not None:
            y = y * 3
        return y

    same(f, lambda: (leaf(),), breaks=["GB0104"])
    same(f, lambda: (torch.ones(3),), frames=1, breaks=[])


WRITES = {
    "method": (lambda x: x.add_(1), LEAF),
    "number": (lambda x: x.fill_(1), LEAF),
    "zero": (lambda x: x.zero_(), LEAF),
    "random": (lambda x: x.normal_(), LEAF),
    "copy": (lambda x: x.copy_(torch.ones(3)), LEAF),
    "functional": (lambda x: torch.nn.functional.relu(x, inplace=True), LEAF),
    "handed back": (lambda x: x.contiguous().add_(1), LEAF),
    "slice": (lambda x: x[0:2].add_(1), VIEW),
    "reshaped": (lambda x: x.reshape(3, 1).mul_(2), VIEW),
    "view of a view": (lambda x: x.view(3, 1).t().add_(1), VIEW),
    "assigned": (lambda x: written(x, 3), VIEW),
    "untracked": (lambda x: without_grad(lambda: x[0:2]).add_(1), UNTRACKED),
    "untracked view of a computed one": (lambda x: without_grad(lambda y: y[0:2], x * 2).add_(1), UNTRACKED),
}


def augmented(x):
    x += 1
    return x


def by_mask(x):
    x[x > 0] = 1
    return x


WRITES["operator"] = (augmented, LEAF)
WRITES["mask"] = (by_mask, LEAF)


@pytest.mark.parametrize("name", WRITES)
def test_writes_to_leaves(name):
    write, text = WRITES[name]
    x = leaf()
    with pytest.raises(RuntimeError, match=text):
        write(x)
    assert x.tolist() == [1, 1, 1] and x._version == 0
    same(write, lambda: (leaf(),))
    without_grad(write, leaf())
    write(leaf().detach())
    if text != UNTRACKED:
        computed = leaf() * 2
        write(computed)
        assert computed.requires_grad and not computed.is_leaf
        if name != "random":
            same(write, lambda: (leaf() * 2,))


@pytest.mark.parametrize("change", ["t_", "squeeze_", "set_"])
def test_shapes_of_leaves(change):
    with pytest.raises(RuntimeError, match=LEAF):
        getattr(leaf(), change)()


def test_shape_errors_come_after_the_leaf():
    def f(x):
        return x.add_(torch.ones(5))

    with pytest.raises(RuntimeError, match="leaf Variable"):
        f(leaf())
    same(f, lambda: (leaf(),))


def test_views_cannot_be_detached_in_place():
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        leaf()[0:2].detach_()


def test_values_that_require_grad_make_their_target_require_it():
    def local(w):
        z = torch.zeros(3)
        z.add_(w)
        y = torch.zeros(3)
        y[0] = w[1]
        return z, y, z.requires_grad, y.requires_grad, z.is_leaf

    def argument(z, w):
        z.add_(w)
        return z * 2, z.requires_grad, z.is_leaf

    def assigned(z, w):
        z[1] = w[0]
        return z * 2, z.requires_grad

    assert local(leaf())[2:] == (True, True, False)
    same(local, lambda: (leaf(),), frames=1, breaks=[])
    same(argument, lambda: (torch.zeros(3), leaf()))
    same(assigned, lambda: (torch.zeros(3), leaf()))
    for f in (argument, assigned):
        for run in (f, torch.compile(f)):
            z = torch.zeros(3)
            run(z, leaf())
            assert z.requires_grad and not z.is_leaf


def test_retained_gradients():
    x = leaf()
    x.retain_grad()
    assert not x.retains_grad
    y = x * 2
    y.retain_grad()
    assert y.retains_grad and not (x * 3).retains_grad
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"):
        torch.ones(2).retain_grad()

    def f(x):
        y = x * 2
        y.retain_grad()
        return y, y.retains_grad

    same(f, lambda: (leaf(),))


def test_gradients():
    x = leaf()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert x.grad is None and torch.ones(2).grad is None
        y = x * 2
        y.retain_grad()
        assert y.grad is None
    with pytest.warns(UserWarning, match="not a leaf"):
        assert (x * 2).grad is None
    x.grad = None
    del x.grad
    x.grad = given = torch.ones(3)
    assert x.grad is given
    del x.grad
    assert x.grad is None
    with pytest.raises(RuntimeError, match="size|shape"):
        x.grad = torch.ones(2)
    with pytest.raises(TypeError, match="Tensor or None"):
        x.grad = 3

    def f(x):
        return (x * 2).grad, x + 1

    with pytest.warns(UserWarning, match="not a leaf"):
        assert torch.compile(f)(x)[0] is None


def test_the_other_name_of_gradients():
    x, given = leaf(), torch.ones(3)
    x._grad = given
    assert x.grad is given and x._grad is given and "_grad" not in vars(x)
    with pytest.raises(RuntimeError, match="size|shape"):
        x._grad = torch.ones(2)

    def f(x, g):
        x._grad = g * 2
        return x._grad + 1

    assert torch.compile(f)(x, given).tolist() == [3, 3, 3] and x.grad.tolist() == [2, 2, 2]


class Own(torch.Tensor):
    pass


def test_as_subclass():
    s = torch.ones(3).as_subclass(Own)
    assert type(s) is Own and type(s.as_subclass(torch.Tensor)) is torch.Tensor
    assert type(s.as_subclass(torch.nn.Parameter)) is torch.nn.Parameter and type(s + 1) is Own
    assert s.as_subclass(torch.Tensor).data_ptr() == s.data_ptr()
    for value in (torch.ones(3), leaf(), leaf() * 2):
        cast = value.as_subclass(Own)
        assert cast is not value and cast.requires_grad == value.requires_grad and cast.is_leaf != value.requires_grad
        assert not without_grad(value.as_subclass, Own).requires_grad
    same(lambda s: s.as_subclass(torch.Tensor) * 2, lambda: (torch.ones(3).as_subclass(Own),))


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


class Changes(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.add_(1)


def test_autograd_functions():
    y = Scale.apply(leaf())
    assert y.requires_grad and not y.is_leaf and y.grad_fn is not None
    assert Scale.apply(torch.ones(3)).is_leaf and without_grad(Scale.apply, leaf()).is_leaf
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad has been used in an in-place operation"):
        Changes.apply(leaf())
    computed = leaf() * 2
    assert Changes.apply(computed) is computed and not computed.is_leaf
    same(lambda x: (Scale.apply(x), Scale.apply(x).is_leaf), lambda: (leaf(),))
    same(lambda x: Changes.apply(x), lambda: (leaf(),))


def test_recompiles_say_what_changed():
    compiled = torch.compile(lambda x: x * 2)
    for x in (leaf(), leaf() * 2):
        compiled(x)
    metrics = torch._dynamo.utils.get_compilation_metrics()[-1]
    reason = metrics.recompile_reason
    assert (reason.place, reason.old, reason.new) == ("x.is_leaf", "True", "False") and "detach" in reason.hint
