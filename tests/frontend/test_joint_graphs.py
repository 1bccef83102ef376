"""The forward and the backward graph of compiled functions: what is kept between them, and when there is none."""

import gc
import logging
import weakref

import pytest

import minidynamo as torch
from minidynamo import _logging, nn

F = nn.functional


def without_source_lines(text):
    return "\n".join(line for line in text.split("\n") if not line.strip().startswith("#"))


@pytest.fixture
def logged():
    """logged(f, *args) -> the result, and the texts of the graphs and hints made meanwhile."""
    texts = []
    handler = logging.Handler()
    handler.emit = lambda record: texts.append(record.getMessage())

    def run(f, *args, **options):
        texts.clear()
        torch._dynamo.reset()
        result = torch.compile(f, fullgraph=True, **options)(*args)
        return result, [without_source_lines(text) for text in texts]

    _logging.set_logs(aot_graphs=True, perf_hints=True)
    logging.getLogger("minidynamo").addHandler(handler)
    yield run
    logging.getLogger("minidynamo").removeHandler(handler)
    _logging.set_logs()


def results_of(text):
    """How many tensors a printed graph returns."""
    last = [line for line in text.split("\n") if line.strip().startswith("return ")][-1]
    return last.count(",") if last.rstrip().endswith(",)") else last.count(",") + 1


def leaf(*sizes):
    return torch.randn(*sizes, dtype=torch.float64, requires_grad=True)


def grads_of(f, args):
    """Gradients of fresh leaves like `args` through f, one for each, and None."""
    leaves = [a.detach().clone().requires_grad_(a.requires_grad) for a in args]
    results = f(*leaves)
    results = [r for r in (results if isinstance(results, tuple) else (results,)) if r.requires_grad]
    weights = [torch.arange(1.0, r.numel() + 1, dtype=r.dtype).reshape(r.shape) for r in results]
    torch.autograd.backward(results, weights)
    return [leaf.grad for leaf in leaves]


def assert_as_plain(f, *args, **options):
    want, got = grads_of(f, args), grads_of(torch.compile(f, fullgraph=True, **options), args)
    for a, b in zip(want, got, strict=True):
        assert (a is None) == (b is None)
        assert a is None or (torch.equal(a, b) and a.stride() == b.stride())


# --- what is kept ---


def chain(x):
    return (x.sin() * 2 + 1).exp().cos()


def residual(x, w):
    return x + torch.relu(x @ w)


def normalised(x, w):
    return F.softmax(F.layer_norm(x @ w, (4,)), -1)


@pytest.mark.parametrize(
    "f, sizes, kept",
    [
        (chain, [(3, 4)], 0),  # computed again from the input
        (lambda x, y: x * y, [(3, 4), (3, 4)], 0),
        (residual, [(3, 4), (4, 4)], 1),  # the product
        (lambda x, w: (x @ w).sum(), [(3, 4), (4, 4)], 0),  # the inputs are there anyway
        (lambda x, a, b: torch.relu(x @ a) @ b, [(3, 4), (4, 4), (4, 2)], 1),
    ],
)
def test_what_can_be_computed_again_is_not_kept(f, sizes, kept, logged):
    _, texts = logged(f, *[leaf(*s) for s in sizes])
    forward, backward = texts
    assert "Forward graph of __compiled_fn" in forward and "Backward graph of __compiled_fn" in backward
    assert results_of(forward) == 1 + kept and results_of(backward) == len(sizes)
    assert_as_plain(f, *[leaf(*s) for s in sizes])


def test_products_and_random_numbers_are_not_computed_twice(logged):
    def f(x, w):
        return F.dropout(torch.tanh(x @ w), 0.5)

    _, (forward, backward) = logged(f, leaf(3, 4), leaf(4, 4))
    assert forward.count("mm(") + forward.count("matmul(") >= 1
    assert "rand" not in backward and "bernoulli" not in backward
    x, w = leaf(3, 4), leaf(4, 4)
    torch.manual_seed(1)
    want = grads_of(f, (x, w))
    for _ in range(2):
        torch.manual_seed(1)
        got = grads_of(torch.compile(f), (x, w))
        assert all(torch.equal(a, b) for a, b in zip(want, got))


def test_a_layer_deep_inside_is_not_computed_from_the_start(logged):
    def f(x):
        for _ in range(40):
            x = x + x.sin()
        return x

    _, (forward, _) = logged(f, leaf(3, 4))
    assert 2 <= results_of(forward) <= 6
    assert_as_plain(f, leaf(3, 4))


def test_without_gradients_nothing_is_kept(logged):
    _, texts = logged(residual, leaf(3, 4).detach(), leaf(4, 4).detach())
    assert len(texts) == 1 and results_of(texts[0]) == 1
    with torch.no_grad():
        _, texts = logged(residual, leaf(3, 4), leaf(4, 4))
    assert len(texts) == 1 and results_of(texts[0]) == 1


# --- the same gradients ---


def two_of_three(x, y, z):
    return x * y, z.sin()


def test_gradients_of_some_results_alone():
    compiled = torch.compile(two_of_three, fullgraph=True)
    for chosen in (0, 1, 0):
        x, y, z = leaf(3), leaf(3), leaf(3)
        compiled(x, y, z)[chosen].sum().backward()
        assert [t.grad is None for t in (x, y, z)] == ([False, False, True] if chosen == 0 else [True, True, False])
        if chosen == 0:
            assert torch.equal(x.grad, y.detach()) and torch.equal(y.grad, x.detach())
        else:
            assert torch.equal(z.grad, z.detach().cos())


def no_grad_write(x):
    y = x * 2
    with torch.no_grad():
        y.add_(1)
        y[0] = 5
    return y * y


def detached_write(x):
    y = x * 2
    y.detach().mul_(3)
    return y * y


def views_written(x, y):
    a = x.clone()
    a[0] = y[1]
    a.t()[2:].mul_(2)
    b = a.view(-1)[3:7]
    b.add_(y.reshape(-1)[:4])
    return a.exp(), b


def parts(x):
    a, b = x.chunk(2, -1)
    values, places = torch.cat([b, a], -1).max(-1)
    return values * 2, places, x.unbind(0)[1]


def picked(x, i):
    return F.embedding(i, x).sum(-1), x[i[0]] * 2, torch.gather(x, 1, i)


def grid(x, w):
    return F.max_pool2d(torch.relu(F.conv2d(x[None], w[:, None], padding=1)), 2)


@pytest.mark.parametrize("dynamic", [False, True], ids=["", "dynamic"])
@pytest.mark.parametrize(
    "f, sizes",
    [
        (chain, [(3, 4)]),
        (residual, [(3, 4), (4, 4)]),
        (normalised, [(3, 4), (4, 4)]),
        (two_of_three, [(3,), (3,), (3,)]),
        (no_grad_write, [(3, 4)]),
        (detached_write, [(3, 4)]),
        (views_written, [(3, 4), (3, 4)]),
        (parts, [(4, 6)]),
        (grid, [(1, 6, 6), (2, 3, 3)]),
    ],
)
def test_as_plain(f, sizes, dynamic, no_defects):
    if dynamic and f is grid:
        return
    torch.manual_seed(0)
    assert_as_plain(f, *[leaf(*s) for s in sizes], dynamic=dynamic)


def test_positions(no_defects):
    assert_as_plain(picked, leaf(5, 5), torch.tensor([[0, 2, 2], [4, 0, 1]]))


def test_a_batch_of_another_size(no_defects):
    model = nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 3))
    compiled = torch.compile(model)
    for n in (4, 7, 2, 1, 9):
        x, target = torch.randn(n, 6), torch.randint(0, 3, (n,))
        found = []
        for m in (model, compiled):
            model.zero_grad()
            F.cross_entropy(m(x), target).backward()
            found.append([p.grad.clone() for p in model.parameters()])
        assert all(torch.allclose(a, b, rtol=1e-5, atol=1e-7) for a, b in zip(*found))


def test_running_statistics_are_written_once(no_defects):
    def trained(compile):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 5), nn.BatchNorm1d(5), nn.Tanh())
        run = torch.compile(model) if compile else model
        for _ in range(3):
            run(torch.randn(8, 4)).square().sum().backward()
        return [*model.buffers(), *(p.grad for p in model.parameters())]

    for a, b in zip(trained(False), trained(True), strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)


# --- what is refused, and what lives how long ---


def test_a_result_that_backward_needs_may_not_change():
    y = torch.compile(lambda x: (x @ x).exp())(x := leaf(3, 3))
    y.detach().mul_(2)
    try:
        y.sum().backward()
    except RuntimeError as error:
        assert "modified by an inplace operation" in str(error)
    else:  # it was not kept
        assert x.grad is not None
    z = torch.compile(lambda x, w: x @ w)(x := leaf(3, 3), w := leaf(3, 3))
    w.detach().mul_(2)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


def test_a_second_time():
    y = torch.compile(chain)(x := leaf(3))
    y.sum().backward(retain_graph=True)
    first = x.grad.clone()
    y.sum().backward()
    assert torch.equal(x.grad, first * 2)
    with pytest.raises(RuntimeError, match="a second time"):
        y.sum().backward()


def test_second_derivatives_go_through_a_compiled_first():
    def second(f):
        x = torch.tensor([0.3, 0.7], dtype=torch.float64, requires_grad=True)
        (g,) = torch.autograd.grad(f(x).sum(), x, create_graph=True)
        (h,) = torch.autograd.grad(g.sum(), x)
        return h

    assert torch.allclose(second(chain), second(torch.compile(chain)), rtol=1e-12)


def test_kept_values_die_with_the_result():
    f = torch.compile(residual)
    x, w = leaf(300, 300), leaf(300, 300)
    f(x, w).sum().backward()
    gc.collect()
    y = f(x, w)
    node = weakref.ref(y)
    del y
    gc.collect()
    assert node() is None


def test_threads_share_a_backward_graph():
    import concurrent.futures

    f = torch.compile(normalised)
    x, w = leaf(3, 4), leaf(4, 4)
    want = grads_of(normalised, (x, w))
    f(x, w)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for got in pool.map(lambda _: grads_of(f, (x, w)), range(40)):
            assert all(torch.allclose(a, b, rtol=1e-12) for a, b in zip(want, got))


# --- views of inputs, functions with a backward of their own, gradients as inputs ---


@pytest.mark.parametrize(
    "f",
    [
        lambda x, y: (x.sum(), y.t()),
        lambda x, y: (y.expand(2, 3, 4), x * 2),
        lambda x, y: y.reshape(4, 3),
        lambda x, y: (y.unfold(1, 2, 2)[0], y.detach()),
        lambda x, y: (x, y[1:]),
    ],
)
def test_views_of_inputs_that_are_returned(f, no_defects):
    assert_as_plain(f, leaf(3, 4), leaf(3, 4))
    assert_as_plain(f, leaf(3, 4), leaf(3, 4), backend="eager")


class Doubled(torch.autograd.Function):
    """A gradient that is not that of its forward."""

    @staticmethod
    def forward(ctx, x, factor):
        ctx.save_for_backward(x)
        ctx.factor = factor
        return x * factor

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.factor * 10 + x * 0, None


class Parts(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.mark_non_differentiable(sign := (x > 0).double())
        return x + y, x * y, sign

    @staticmethod
    def backward(ctx, a, b, _):
        return a * 2, b * 3


def once(x, y):
    return Doubled.apply(x, 3) * y


def inside_more(x, y):
    h = torch.sin(x)
    h = Doubled.apply(h, 0.5) + Doubled.apply(y * h, 2.0)
    return h.sum(), h.exp()


def several_results(x, y):
    a, b, c = Parts.apply(x * 1, y.cos())
    return a * b * c


@pytest.mark.parametrize("backend", ["inductor", "eager"])
@pytest.mark.parametrize("f", [once, inside_more, several_results])
def test_functions_with_a_backward_of_their_own(f, backend, no_defects):
    assert_as_plain(f, leaf(3, 4), leaf(3, 4), backend=backend)
    second = [
        torch.autograd.grad(torch.autograd.grad(g(x, y)[0].sum(), x, create_graph=True)[0].sum(), y, allow_unused=True)
        for g in (once, torch.compile(once))
        for x, y in [(torch.ones(2, 2, requires_grad=True), torch.full((2, 2), 2.0, requires_grad=True))]
    ]
    assert torch.equal(second[0][0], second[1][0])


def test_gradients_are_inputs(no_defects):
    def total(parameters):
        norms = [p.grad.norm() for p in parameters if p.grad is not None]
        return torch.stack(norms).sum() if norms else torch.zeros(())

    def scale(parameters):
        for p in parameters:
            if p.grad is not None:
                p.grad.mul_(0.5)

    p, q = leaf(3), leaf(3)
    compiled, scaled = torch.compile(total), torch.compile(scale)
    for step in range(5):
        assert torch.allclose(compiled([p, q]), total([p, q]))
        (p * step).sum().backward()
        if step % 2:
            q.grad = torch.full((3,), float(step), dtype=torch.float64)
        before = [None if t.grad is None else t.grad.clone() for t in (p, q)]
        assert torch.allclose(compiled([p, q]), total([p, q]))
        scaled([p, q])
        assert all(b is None or torch.equal(t.grad, b * 0.5) for t, b in zip((p, q), before))
        if step == 2:
            p.grad = None


def test_a_training_step_is_compiled_in_parts(no_defects):
    def steps(compile):
        torch.manual_seed(0)
        model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.LayerNorm(8), nn.Linear(8, 3))
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-2, weight_decay=0.1)

        def step(x, target):
            optimiser.zero_grad()
            loss = F.cross_entropy(model(x), target)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimiser.step()
            return loss

        run = torch.compile(step) if compile else step
        return [run(torch.randn(6, 4), torch.randint(0, 3, (6,))).item() for _ in range(6)]

    assert steps(False) == pytest.approx(steps(True), rel=1e-6)


def test_hooks_and_gradients_of_results_see_all_of_it(no_defects):
    def f(x):
        a = x * 2
        return a, a.sin()

    for g in (f, torch.compile(f)):
        a, b = g(x := torch.ones(3, dtype=torch.float64, requires_grad=True))
        seen = []
        a.register_hook(lambda gradient, seen=seen: seen.append(gradient.clone()))
        a.retain_grad()
        (of_a,) = torch.autograd.grad(b.sum(), a, retain_graph=True)
        assert torch.allclose(of_a, a.detach().cos())
        (a.sum() + b.sum()).backward()
        assert torch.allclose(seen[-1], 1 + a.detach().cos()) and torch.allclose(a.grad, of_a + seen[-1])
        assert torch.allclose(x.grad, 2 * seen[-1])
