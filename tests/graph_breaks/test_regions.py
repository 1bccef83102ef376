"""Codes about functions that are given to operators: every operator, every way to get there, and what does not break.

A body takes a row of two elements and gives a new one. What it does wrong has one code, whichever operator calls it.
"""

import functools

import pytest

import minidynamo as torch
from minidynamo._dynamo.exc import UncapturedHigherOrderOpError, Unsupported
from minidynamo._dynamo.testing import CompileCounter
from minidynamo._higher_order_ops import (
    associative_scan,
    hints_wrapper,
    invoke_subgraph,
    map,
    scan,
    strict_mode,
    while_loop,
    wrap,
)
from minidynamo.nn.attention.flex_attention import flex_attention
from minidynamo.utils.checkpoint import checkpoint, create_selective_checkpoint_contexts, noop_context_fn


def rows():
    return torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])


def in_cond(body, x):
    return torch.cond(x.sum() > 0, body, lambda t: t - 1, (x[0],))


def in_other_branch(body, x):
    return torch.cond(pred=x.sum() > 0, true_fn=lambda t: t - 1, false_fn=body, operands=[x[0]])


def in_while(body, x):
    return while_loop(lambda i, t: i < 2, lambda i, t: (i + 1, body(t)), (torch.tensor(0), x[0]))


def in_while_by_name(body, x):
    return while_loop(carried_inputs=[x[0], 0], body_fn=lambda t, n: (body(t), n + 1), cond_fn=lambda t, n: n < 2)


def in_scan(body, x):
    return scan(lambda c, row: (c + row, body(row)), x[0], x)


def in_scan_state(body, x):
    return scan(combine_fn=lambda c, row: (body(c), row * 2), init=x[0], xs=x, reverse=True)


def in_map(body, x):
    return map(body, x)


def in_nested(body, x):
    def row(t):
        return torch.cond(t.sum() > 0, body, lambda t: t - 1, (t,))

    return map(row, x)


def in_associative_scan(body, x):
    return associative_scan(lambda a, b: a + body(b), x, 0, combine_mode="generic")


def in_strict_mode(body, x):
    return strict_mode(body, (x[0],))


def in_hints_wrapper(body, x):
    return hints_wrapper(body, (x[0],), {}, hints={})


REGIONS = {
    f.__name__: f
    for f in (
        *(in_cond, in_other_branch, in_while, in_while_by_name, in_scan, in_scan_state, in_map, in_nested),
        *(in_associative_scan, in_strict_mode, in_hints_wrapper),
    )
}
IN_PLACE = {in_strict_mode, in_hints_wrapper}  # a write or a result that is an operand is theirs


class Seen:
    def __init__(self):
        self.count, self.items, self.weight = 0, [], torch.ones(2)

    def count_up(self, t):
        self.count += 1
        return t * 2

    def keep(self, t):
        self.items.append(3)
        return t * 2

    def write(self, t):
        self.weight.add_(1)
        return t * self.weight

    def give(self, t):
        return self.weight


seen = Seen()
total = 0


def count_global(t):
    global total
    total += 1
    return t * 2


def count_two_calls_deep(t):
    def inner(t):
        return seen.count_up(t)

    return inner(t)


def write_row(t):
    t[0] = 0.0
    return t * 2


def write_view(t):
    t.view(1, 2).mul_(2)
    return t * 2


def write_two_calls_deep(t):
    def inner(a):
        a += 1
        return a * 2

    return inner(t)


def itself(t):
    return t


def view_two_calls_deep(t):
    def inner(a):
        return a.reshape(2)

    return inner(t)


def leave(t):
    torch._dynamo.graph_break()
    return t * 2


def leave_two_calls_deep(t):
    return leave(t=t)


def branch(t):
    return t * 2 if t.sum() > 0 else t


def fail(t):
    return [t][1]


BODIES = {
    "GB0067": [count_global, seen.count_up, seen.keep, count_two_calls_deep],
    "GB0041": [write_row, write_view, seen.write, write_two_calls_deep],
    "GB0040": [itself, view_two_calls_deep, seen.give, lambda t: t[:]],
    "GB0025": [leave, leave_two_calls_deep],
    "GB0170": [branch],
    "GB0088": [fail],
}
BROKEN = [(code, body) for code, bodies in BODIES.items() for body in bodies]


def codes_of(error):
    found = set()
    while error is not None:
        found.add(getattr(error, "gb_code", None))
        error = error.__cause__ or error.__context__
    return found


# Writes and views are no matter where the function stays part of the graph around it.
CROSSED = [(n, *b) for n in REGIONS for b in BROKEN if b[0] not in ("GB0040", "GB0041") or REGIONS[n] not in IN_PLACE]


@pytest.mark.parametrize("name,code,body", CROSSED, ids=lambda v: getattr(v, "__name__", v))
def test_what_a_function_may_not_do(name, code, body):
    operator = REGIONS[name]
    if code == "GB0040" and operator is in_associative_scan:
        code = None  # added to the other operand, and no result
    for fullgraph in (True, False, None):
        torch._dynamo.reset()
        f = operator if fullgraph is None else torch.compile(operator, backend="eager", fullgraph=fullgraph)
        if fullgraph is None and operator is in_hints_wrapper:
            continue  # plain Python
        if fullgraph is None and operator is in_strict_mode and body is count_global:
            continue  # a global of another module than that of the operator: GB0147
        if code is None:
            assert torch.equal(f(body, rows()), operator(body, rows()))
            continue
        with pytest.raises(UncapturedHigherOrderOpError) as error:
            f(body, rows())
        assert code in codes_of(error.value)
    assert (seen.count, seen.items, total) == (0, [], 0)
    assert seen.weight.tolist() == [1, 1]


class Own:
    pass


def own_state(t):
    found = []
    own = Own()
    for k in range(2):
        found.append(t * k)
        own.last = found[-1]
    return found[1] + own.last


def own_copy(t):
    t = t.clone()
    t[0] = 0.0
    return t


def own_view(t):
    return (t * 2).view(2)


@pytest.mark.parametrize("body", [own_state, own_copy, own_view])
@pytest.mark.parametrize("name", REGIONS)
def test_what_a_function_may_do_to_its_own(name, body):
    operator = REGIONS[name]
    counter = CompileCounter()
    got = torch.compile(operator, backend=counter, fullgraph=True)(body, rows())
    want = operator(body, rows())
    leaves = torch.utils._pytree.tree_leaves
    for a, b in zip(leaves(got), leaves(want), strict=True):
        assert torch.equal(torch.as_tensor(a), torch.as_tensor(b))
    assert counter.frame_count == 1


# --- nested_compile_region -------------------------------------------------------------------------------------------


def region(f):
    return torch.compiler.nested_compile_region(f)


class Holder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(2))

    @region
    def view(self, t):
        return t.view(2)

    @region
    def own(self, t, *, scale=1):
        return t * self.weight * scale

    @region
    def stored(self, t):
        return self.weight


holder = Holder()
same_view, sliced, same_dict = region(lambda t: t), region(lambda t, n=1: t[:n]), region(lambda t: {"t": (t, 3)})


@pytest.mark.parametrize(
    "call",
    [
        lambda t: same_view(t) + 1,
        lambda t: sliced(t, n=2),
        lambda t: same_dict(t),
        lambda t: holder.view(t=t),
        lambda t: holder.stored(t) * t,
        lambda t: (lambda a: (lambda b: same_view(b))(a))(t * 2),
    ],
)
def test_a_nested_region_owns_its_results(call):
    for fullgraph in (True, False):
        torch._dynamo.reset()
        with pytest.raises(UncapturedHigherOrderOpError) as error:
            torch.compile(call, backend="eager", fullgraph=fullgraph)(torch.ones(2))
        assert "GB0040" in codes_of(error.value)
    call(torch.ones(2))  # plain Python does not mind


class Callable:
    def __call__(self, t):
        return t * 3


NO_FUNCTIONS = [
    region(Callable()),
    region(functools.partial(lambda n, t: t * n, 3)),
    region(functools.partial(torch.sin)),
]


@pytest.mark.parametrize("called", NO_FUNCTIONS)
@pytest.mark.parametrize("way", [lambda f, t: f(t), lambda f, t: [f][0](t), lambda f, t: (lambda g: g(t))(f)])
def test_a_nested_region_is_a_function(called, way):
    with pytest.raises(UncapturedHigherOrderOpError) as error:
        torch.compile(way, backend="eager")(called, torch.ones(2))
    assert "GB0042" in codes_of(error.value)


doubled, module_region = region(lambda t: t * 2), region(torch.nn.ReLU())
configured = torch.compiler.nested_compile_region(max_reuse_entries=4)(lambda t: t * 2)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: doubled(t) + doubled(t + 1),
        lambda t: module_region(t - 1),
        lambda t: holder.own(t, scale=3),
        lambda t: configured(t),
        lambda t: region_that_writes(t.clone()),
    ],
)
def test_nested_regions_in_one_graph(call):
    counter = CompileCounter()
    got = torch.compile(call, backend=counter, fullgraph=True)(torch.ones(2))
    assert torch.equal(got, call(torch.ones(2))) and counter.frame_count == 1


@region
def region_that_writes(t):
    t.add_(1)
    return t * 2


broken_regions = [region(leave), region(leave_two_calls_deep), region(branch), region(fail)]


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("fullgraph", [True, False])
def test_a_break_in_a_nested_region(number, fullgraph):
    called = broken_regions[number]
    with pytest.raises(UncapturedHigherOrderOpError) as error:
        torch.compile(lambda t: called(t), backend="eager", fullgraph=fullgraph)(torch.ones(2))
    assert codes_of(error.value) & {"GB0025", "GB0170", "GB0088"}


@pytest.mark.parametrize(
    "use",
    [
        lambda t: t if callable(invoke_subgraph) else t + 1,
        lambda t: t + len(str(torch.ops.higher_order.invoke_subgraph)),
        lambda t: (lambda op: t * (op is not None))(invoke_subgraph),
        lambda t: t * (type(invoke_subgraph) is not None),
    ],
)
def test_the_operator_of_nested_regions_by_name(use):
    with pytest.raises(Unsupported) as error:
        torch.compile(use, backend="eager", fullgraph=True)(torch.ones(2))
    assert error.value.gb_code == "GB0017"
    torch._dynamo.reset()
    assert torch.equal(torch.compile(use, backend="eager")(torch.ones(2)), use(torch.ones(2)))


# --- checkpoint and wrap ---------------------------------------------------------------------------------------------


def in_checkpoint(body, t):
    return checkpoint(body, t, use_reentrant=False)


def in_checkpoint_with_contexts(body, t):
    return checkpoint(body, t, use_reentrant=False, context_fn=contexts)


def in_wrap(body, t):
    return wrap(body, t)


def in_flex_attention(body, t):
    x = t.reshape(1, 1, 2, 1)
    return flex_attention(x, x, x, score_mod=lambda score, b, h, i, j: body(score))


def contexts(*more):
    return noop_context_fn()


@pytest.mark.parametrize("body", BODIES["GB0067"])
@pytest.mark.parametrize("operator", [in_checkpoint, in_checkpoint_with_contexts, in_wrap, in_flex_attention])
def test_effects_break_the_graph(operator, body, monkeypatch):
    monkeypatch.setattr(seen, "count", 0)
    monkeypatch.setattr(seen, "items", [])
    monkeypatch.setitem(globals(), "total", 0)
    f = torch.compile(operator, backend="eager", fullgraph=True)
    with pytest.raises(Unsupported) as error:
        f(body, torch.ones(2))
    assert "GB0067" in codes_of(error.value)
    assert (seen.count, seen.items, total) == (0, [], 0)
    if operator is not in_flex_attention:  # which is captured as a whole when it is called plain, too
        torch._dynamo.reset()
        assert torch.equal(torch.compile(operator, backend="eager")(body, torch.ones(2)), torch.ones(2) * 2)
        assert seen.count + len(seen.items) + total == 1


@pytest.mark.parametrize("body", [own_state, own_copy, write_row, lambda t: t[:1]])
@pytest.mark.parametrize("operator", [in_checkpoint, in_checkpoint_with_contexts, in_wrap])
def test_checkpoints_without_effects(operator, body):
    counter = CompileCounter()
    got = torch.compile(operator, backend=counter, fullgraph=True)(body, torch.ones(2))
    assert torch.equal(got, body(torch.ones(2))) and counter.frame_count == 1


@pytest.mark.parametrize(
    "bind",
    [
        lambda t: functools.partial(contexts, t),
        lambda t: functools.partial(contexts, [t, 1]),
        lambda t: functools.partial(contexts, more={"t": t}),
        lambda t: functools.partial(contexts, lambda: t),
        lambda t: functools.partial(contexts, Callable()),
    ],
)
@pytest.mark.parametrize("deep", [False, True])
def test_contexts_bound_to_what_is_no_constant(bind, deep):
    def direct(t):
        return checkpoint(torch.sin, t, use_reentrant=False, context_fn=bind(t))

    f = (lambda t: (lambda u: direct(u))(t)) if deep else direct
    with pytest.raises(Unsupported) as error:
        torch.compile(f, backend="eager", fullgraph=True)(torch.ones(2))
    assert error.value.gb_code == "GB0086"


def always(context, op, *args, **kwargs):
    return torch.utils.checkpoint.CheckpointPolicy.MUST_SAVE


@pytest.mark.parametrize(
    "context_fn",
    [
        noop_context_fn,
        contexts,
        functools.partial(contexts, 1, "a", (torch.float32, [2])),
        functools.partial(contexts, always),
        functools.partial(create_selective_checkpoint_contexts, always),
        functools.partial(create_selective_checkpoint_contexts, [torch.ops.aten.mul.Tensor]),
    ],
)
def test_contexts_in_one_graph(context_fn):
    def f(t):
        return checkpoint(lambda a: (a * a).sin(), t, use_reentrant=False, context_fn=context_fn)

    found = []
    counter = CompileCounter()
    for g in (f, torch.compile(f, backend=counter, fullgraph=True), torch.compile(f)):
        t = torch.ones(2, requires_grad=True)
        y = g(t)
        y.sum().backward()
        found.append((y.tolist(), t.grad.tolist()))
    assert found[0] == found[1] == found[2] and counter.frame_count == 1


entered = []


class Noting:
    def __init__(self, name):
        self.name = name

    def __enter__(self):
        entered.append(self.name)

    def __exit__(self, *error):
        entered.append(-self.name)


def noting():
    return Noting(1), Noting(2)


def test_contexts_are_entered():
    def f(t):
        return checkpoint(torch.sin, t, use_reentrant=False, context_fn=noting)

    torch.compile(f, backend="eager")(torch.ones(2))
    assert entered == [1, -1]
