"""Graphs that fail at run time: the frame runs again as plain Python, and nobody can tell that there were two runs."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import Seen

MADE = []  # calls of opaque code, in their order
LOG = []  # what the traced code does itself
BAD = torch.tensor([7])


def call(name):
    MADE.append(name)


@torch.library.custom_op("failing::double", mutates_args=())
def double(x: torch.Tensor) -> torch.Tensor:
    call("double")
    return x * 2


@double.register_fake
def _(x):
    return torch.empty_like(x)


@torch.library.custom_op("failing::bump", mutates_args={"x", "z"})
def bump(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> torch.Tensor:
    call("bump")
    x += 1
    z.copy_(x * y)
    return y + x


@bump.register_fake
def _(x, y, z):
    return torch.empty_like(y)


@torch.library.custom_op("failing::refuse", mutates_args=())
def refuse(x: torch.Tensor) -> torch.Tensor:
    call("refuse")
    if x.sum() > 0:
        raise ValueError("refused")
    return x.clone()


@refuse.register_fake
def _(x):
    return torch.empty_like(x)


@torch.compiler.allow_in_graph
def whole(x, scale=1, shift=None):
    call("whole")
    return x * scale if shift is None else x * scale + shift


@torch.compiler.allow_in_graph
def writes(*tensors, into, **named):
    call("writes")
    into += tensors[-1]
    for t in named.values():
        t -= 1
    return into * 2


@torch.compiler.allow_in_graph
def part(x):
    call("part")
    return x[1:]


@torch.compiler.allow_in_graph
def noisy(x):
    call("noisy")
    return x + torch.rand(3)


@torch._dynamo.nonstrict_trace
def of_dict(d, k):
    call("of_dict")
    d["a"].add_(1)
    return {"sum": d["a"] + d["b"], "k": k}


class Machine:
    def __init__(self):
        self.runs = 0

    def __call__(self, x):
        call("machine")
        self.runs += 1
        return x + 1

    def step(self, x):
        call("step")
        self.runs += 1
        return x * 3


MACHINE = Machine()
STEP = torch.compiler.allow_in_graph(MACHINE.step)
torch.compiler.allow_in_graph(MACHINE)


def after_an_operator(x, at):
    LOG.append(1)
    y = double(x)
    LOG.append(2)
    z = x[at]
    LOG.append(3)
    return y + z


def operator_raises(x, at):
    LOG.append(1)
    return refuse(double(x))


def operator_raises_and_is_caught(x, at):
    x.add_(1)
    y = double(x)
    try:
        LOG.append(1)
        y = refuse(y)
        LOG.append(2)
    except ValueError as error:
        LOG.append(str(error))
    return y


def raised_while_another_is_handled(x, at):
    y = double(x)
    try:
        raise KeyError("first")
    except KeyError:
        return refuse(y)


def written_operands(x, at):
    z = torch.zeros(3)
    y = bump(x, x * 2, z)
    x.mul_(2)
    try:
        return y[at], z
    except IndexError:
        return y, z, bump(z, x, torch.zeros(3))


def kept_whole(x, at):
    y = whole(x, shift=x + 1, scale=3)
    LOG.append("between")
    try:
        return whole(y, 2)[at]
    except IndexError:
        return y, whole(y, shift=whole(x))


def keywords_in_another_order(x, at):
    a, b = x + 1, x + 2
    y = writes(x, a, third=b, into=x)
    try:
        return y[at]
    except IndexError:
        return y, a, b


def shares_memory(x, at):
    temporary = x * 2
    y = part(temporary)
    y.add_(1)
    z = part(x)
    z.add_(5)
    try:
        return x[at]
    except IndexError:
        temporary.mul_(10)
        return temporary, y, z


def draws(x, at):
    a = torch.rand(3)
    b = noisy(a)
    c = torch.rand(3)
    try:
        return x[at]
    except IndexError:
        return a, b, c, torch.rand(3)


def nested_containers(x, at):
    d = {"a": x, "b": x + 1}
    out = of_dict(d, 3)
    try:
        return out["sum"][at]
    except IndexError:
        return out, d


def objects(x, at):
    y = STEP(MACHINE(x))
    try:
        return y[at]
    except IndexError:
        return y


def in_a_called_function(x, at):
    def inner(y):
        z = double(y)
        LOG.append("inner")
        return z[at] + refuse(z)

    x += 1
    try:
        return inner(whole(x))
    except (IndexError, ValueError) as error:
        LOG.append(type(error).__name__)
        return whole(x)


def after_a_break(x, at):
    y = double(x)
    torch._dynamo.graph_break()
    LOG.append(1)
    x -= 1
    z = double(y)
    return z[at]


def in_a_branch(x, at):
    y = torch.cond(x.sum() > 0, lambda a: double(a), lambda a: a - 1, (x,))
    return y[at]


def unknown_sizes(x, at):
    a = torch.rand(2)
    n = torch.nonzero(x)
    y = double(x)
    LOG.append(n.shape[0] > 1)
    try:
        return x[at]
    except IndexError:
        return a, n, y, torch.rand(2)


def writes_to_parts(x, at):
    for k in range(3):
        x[k] += k
        x[:2] *= 2
    x.t_() if x.dim() == 2 else x.neg_()
    LOG.append("before")
    y = x[at]
    LOG.append("after")
    return y


PROGRAMS = [
    after_an_operator,
    operator_raises,
    operator_raises_and_is_caught,
    raised_while_another_is_handled,
    written_operands,
    kept_whole,
    keywords_in_another_order,
    shares_memory,
    draws,
    nested_containers,
    objects,
    in_a_called_function,
    after_a_break,
    in_a_branch,
    unknown_sizes,
    writes_to_parts,
]


def graph_itself(gm, example_inputs):
    return gm


def run(function, x, at):
    """Everything a program could see of a call."""
    MADE.clear()
    LOG.clear()
    MACHINE.runs = 0
    torch.manual_seed(5)
    seen = Seen(function, (x, at), {})
    return seen.summary(), list(MADE), list(LOG), MACHINE.runs, torch.rand(2).tolist(), x._version


@pytest.mark.parametrize("backend", ["eager", "llvm", graph_itself])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_failing_graph_is_plain_python(program, backend):
    torch._dynamo.reset()
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        compiled = torch.compile(program, backend=backend)
        for make in (lambda: torch.ones(3), lambda: torch.from_numpy(np.arange(1, 4, dtype=np.float32))):
            run(compiled, make(), torch.tensor([1]))
            for _ in range(2):
                assert run(compiled, make(), BAD) == run(program, make(), BAD)
            good = torch.tensor([2])  # version counters count commits there
            assert run(compiled, make(), good)[:-1] == run(program, make(), good)[:-1]


def test_without_the_frame_hook_for_compiling():
    """A stance under which nothing below is compiled still repeats no call."""

    def f(x, at):
        return whole(double(x))[at]

    compiled = torch.compile(f)
    compiled(torch.ones(3), torch.tensor([1]))
    with torch.compiler.set_stance("fail_on_recompile"):
        assert run(compiled, torch.ones(3), BAD) == run(f, torch.ones(3), BAD)
    assert MADE == ["double", "whole"]


def test_a_backend_that_fails_itself_is_not_hidden():
    def wrong(gm, example_inputs):
        def run(*inputs):
            gm(*inputs)
            raise RuntimeError("of the backend")

        return run

    def f(x):
        LOG.append(1)
        return x.add_(1)

    with pytest.raises(RuntimeError, match="of the backend"):
        torch.compile(f, backend=wrong)(torch.ones(3))


def test_a_backend_that_runs_its_graph_twice():
    """The first run has changed the input when the second fails."""

    def twice(gm, example_inputs):
        def run(*inputs):
            gm(inputs[0], torch.zeros_like(BAD), *inputs[2:])
            return gm(*inputs)

        return run

    def f(x, at):
        LOG.append(1)
        x.add_(1)
        return x[at]

    x = torch.ones(3)
    LOG.clear()
    with pytest.raises(IndexError):
        torch.compile(f, backend=twice)(x, BAD)
    assert x.tolist() == [2, 2, 2] and LOG == [1]


def test_what_a_graph_changes_elsewhere():
    """A tensor the program holds outside of the arguments."""
    state = torch.zeros(4)

    @torch.compiler.allow_in_graph
    def held(x):
        return state

    def f(x, at):
        s = held(x)
        s.add_(x)
        s[1:] *= 2
        return x[at]

    for backend in ("eager", "llvm"):
        torch._dynamo.reset()
        state.zero_()
        compiled = torch.compile(f, backend=backend)
        for _ in range(2):
            with pytest.raises(IndexError):
                compiled(torch.ones(4), BAD)
        after = state.tolist()
        state.zero_()
        for _ in range(2):
            with pytest.raises(IndexError):
                f(torch.ones(4), BAD)
        assert state.tolist() == after


def test_a_standalone_graph_is_as_its_code():
    """GraphModule.__call__ outside of a compiled function takes nothing back."""
    graphs = []

    def f(x, at):
        x.add_(1)
        return x[at]

    torch.compile(f, backend=lambda gm, inputs: graphs.append(gm) or gm)(torch.ones(3), torch.tensor([1]))
    x = torch.ones(3)
    with pytest.raises(IndexError):
        graphs[0](x, BAD)
    assert x.tolist() == [2, 2, 2]
