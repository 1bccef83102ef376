"""utils.checkpoint: gradients as without it, while the function runs again in the backward pass."""

import contextlib

import pytest

import minidynamo as torch
from minidynamo import nn
from minidynamo.autograd import grad
from minidynamo.utils.checkpoint import CheckpointError, checkpoint, checkpoint_sequential

BOTH = pytest.mark.parametrize("reentrant", [False, True], ids=["nested graphs", "reentrant"])


class Part:
    """sin(w * exp(x)), which counts its calls and takes w from around."""

    def __init__(self):
        self.w = torch.tensor([0.5, 0.25], requires_grad=True)
        self.x = torch.tensor([1.0, 2.0], requires_grad=True)
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        return (x.exp() * self.w).sin()

    def gradients(self, f):
        f(self).backward()
        return [None if t.grad is None else t.grad.tolist() for t in (self.x, self.w)]


def with_and_without(program, reentrant=False):
    """What the program gives with checkpoint(), the same as with plain calls; and the part."""
    part = Part()
    got = program(part, lambda f, *args, **kwargs: checkpoint(f, *args, use_reentrant=reentrant, **kwargs))
    want = program(Part(), lambda f, *args, **kwargs: f(*args, **kwargs))
    for g, w in zip(got, want, strict=True):
        assert torch.allclose(g, w, rtol=1e-5)
    return part


def backward(loss):
    return lambda part, run: (loss(part, run).backward(), part.x.grad, part.w.grad)[1:]


@BOTH
@pytest.mark.parametrize(
    "loss",
    [
        lambda part, run: run(part, part.x).square().sum(),
        lambda part, run: (run(part, part.x * part.x) * part.w).sum(),
        lambda part, run: run(lambda a: run(part, a * 2).exp(), part.x * 3).sum(),
        lambda part, run: sum(t.sum() for t in run(lambda a: (part(a), a * 3), part.x)),
        lambda part, run: run(lambda a, b: part(a * b), part.x, part.x).sum(),
    ],
    ids=["plain", "in between", "nested", "several", "twice"],
)
def test_gradients_are_those_of_the_plain_call(loss, reentrant):
    assert with_and_without(backward(loss), reentrant).calls > 1


@BOTH
def test_each_backward_pass_runs_it_again(reentrant):
    part = Part()
    y = checkpoint(part, part.x, use_reentrant=reentrant).sum()
    assert part.calls == 1
    y.backward(retain_graph=True)
    y.backward()
    assert part.calls == 3
    with pytest.raises(RuntimeError, match="second time"):
        y.backward()


@pytest.mark.parametrize(
    "program",
    [
        lambda part, run: grad(run(part, part.x).sum(), [part.x, part.w]),
        lambda part, run: grad(run(part, part.x.detach()).sum(), part.w),
        lambda part, run: (run(part, part.x.detach()).sum().backward(), part.w.grad)[1:],
        lambda part, run: (run(part, part.x * 2).sum().backward(inputs=[part.w]), part.w.grad)[1:],
        lambda part, run: (run(lambda a, b: part(a) * b, part.x, b=part.w).sum().backward(), part.w.grad)[1:],
        lambda part, run: grad(
            run(lambda t: {"y": part(t[0]) * t[1]["b"]}, [part.x, {"b": part.w}])["y"].sum(), part.x
        ),
        lambda part, run: (lambda h: grad((run(lambda a: part(a * h), part.x) * h).sum(), [part.x, h]))(part.x * 3),
    ],
    ids=["grad", "only from around", "no argument requires", "chosen", "keywords", "nests", "from around, computed"],
)
def test_what_only_the_other_kind_can(program):
    assert with_and_without(program).calls == 2


def test_derivatives_of_derivatives():
    def program(part, run):
        y = run(part, part.x * part.x)
        first = grad((y * y).sum(), [part.x, part.w], create_graph=True)
        return (*first, *grad((first[0] * first[1]).sum(), [part.x, part.w]))

    with_and_without(program)


@BOTH
def test_random_numbers_are_drawn_again(reentrant):
    drawn = []

    def noisy(x):
        drawn.append(torch.rand(2))
        return x * drawn[-1]

    torch.manual_seed(3)
    x = torch.ones(2, requires_grad=True)
    y = checkpoint(noisy, x, use_reentrant=reentrant).sum()
    torch.rand(5)
    before = torch.get_rng_state()
    y.backward()
    assert torch.equal(drawn[0], drawn[1]) and torch.equal(x.grad, drawn[0])
    assert torch.equal(torch.get_rng_state(), before)
    checkpoint(noisy, x, use_reentrant=reentrant, preserve_rng_state=False).sum().backward()
    assert not torch.equal(drawn[2], drawn[3])


def test_contexts_and_what_differs_the_second_time():
    part, seen = Part(), []

    @contextlib.contextmanager
    def noted(name):
        seen.append(name)
        yield

    checkpoint(part, part.x, use_reentrant=False, context_fn=lambda: (noted("first"), noted("again"))).sum().backward()
    assert seen == ["first", "again"]
    changes = iter([lambda x: x * 2, lambda x: x.double() * 2] * 2)
    with pytest.raises(CheckpointError, match="float64"):
        checkpoint(lambda x: next(changes)(x), part.x, use_reentrant=False).sum().backward()


def test_without_gradients_it_is_a_call():
    part = Part()
    with torch.no_grad():
        assert not checkpoint(part, part.x, use_reentrant=False).requires_grad
    assert checkpoint(torch.sin, torch.zeros(1), use_reentrant=False).tolist() == [0.0]
    with pytest.warns(UserWarning, match="None of the inputs"):
        checkpoint(torch.sin, torch.zeros(1), use_reentrant=True)


def test_bad_arguments():
    x = torch.ones(1, requires_grad=True)
    with pytest.warns(UserWarning, match="use_reentrant"):
        checkpoint(torch.sin, x)
    for options in ({"context_fn": lambda: None}, {"debug": True}, {"unknown": 1}):
        with pytest.raises(ValueError):
            checkpoint(torch.sin, x, use_reentrant=True, **options)
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(torch.sin, x, use_reentrant=False, determinism_check="some")
    with pytest.raises(NotImplementedError, match="debug"):
        checkpoint(torch.sin, x, use_reentrant=False, debug=True)
    with pytest.raises(RuntimeError, match="chosen tensors"):
        grad(checkpoint(torch.sin, x, use_reentrant=True), x)
    for segments in (0, 3):
        with pytest.raises(ValueError, match="segments"):
            checkpoint_sequential([torch.sin, torch.cos], segments, x, use_reentrant=False)


@BOTH
@pytest.mark.parametrize("segments", [1, 2, 3, 5])
def test_sequential(segments, reentrant):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
    x = torch.randn(3, 2, requires_grad=True)
    found = []
    for run in (model, lambda x: checkpoint_sequential(model, segments, x, use_reentrant=reentrant)):
        model.zero_grad()
        x.grad = None
        run(x).square().sum().backward()
        found.append([x.grad, *(p.grad for p in model.parameters())])
    assert all(torch.allclose(a, b, rtol=1e-5) for a, b in zip(*found))


def test_in_compiled_code():
    def f(x, w):
        return checkpoint(lambda a: (a.exp() * w).sin(), x, use_reentrant=False).sum()

    found = []
    for g in (f, torch.compile(f, fullgraph=True)):
        part = Part()
        g(part.x, part.w).backward()
        found.append((part.x.grad, part.w.grad))
    assert all(torch.allclose(a, b, rtol=1e-5) for a, b in zip(*found))


@BOTH
def test_names_of_nodes(reentrant):
    part = Part()
    name = type(checkpoint(part, part.x, use_reentrant=reentrant).grad_fn).__name__
    assert name.endswith("Backward") and not name.startswith("_")
