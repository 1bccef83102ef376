"""Hooks of tensors that a graph computes.

With fullgraph they are registered when the backward pass runs the graph again; without, the graph breaks (GB0029).
"""

import pytest

import minidynamo as torch
from frontend.differential import codes

SEEN = []


def leaf():
    return torch.ones(2, requires_grad=True)


def note(g):
    SEEN.append(g.tolist())


def plain(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y.sum()


def used_before(x):
    y = x * 2
    z = y.sin()
    y.register_hook(lambda g: g * 3)
    return (y + z).sum()


def several(x):
    y = x * 2
    y.register_hook(lambda g: g + 1)
    y.register_hook(torch.neg)
    z = y * 2
    z.register_hook(note)
    return z.sum()


def returned(x):
    y = x * 2
    y.register_hook(lambda g: g * 3)
    return y


def held_outside(scale):
    def program(x):
        y = x.exp()
        y.register_hook(lambda g: g * scale)
        return y.sum()

    return program


PROGRAMS = {
    "plain": plain,
    "used before": used_before,
    "several": several,
    "returned": returned,
    "held outside": held_outside(4.0),
}


@pytest.mark.parametrize("backend", ["eager", "llvm"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_gradients(name, backend):
    def gradients(program):
        SEEN.clear()
        out = []
        for _ in range(2):
            w = leaf()
            program(w).sum().backward()
            out.append(w.grad.tolist())
        return out, list(SEEN)

    want = gradients(PROGRAMS[name])
    assert gradients(torch.compile(PROGRAMS[name], backend=backend, fullgraph=True)) == want
    torch._dynamo.utils.counters.clear()
    assert gradients(torch.compile(PROGRAMS[name], backend=backend)) == want
    assert any("gb0029" in text for text in torch._dynamo.utils.counters["graph_break"])


def captured(x):
    y = x * 2
    s = x.detach().sum()
    y.register_hook(lambda g: g * s)
    return y.sum()


def kept(x):
    y = x * 2
    handle = y.register_hook(torch.neg)
    handle.remove()
    return y.sum()


@pytest.mark.parametrize("program", [captured, kept])
def test_what_no_graph_can_hold(program):
    with pytest.raises(torch._dynamo.exc.Unsupported) as error:
        torch.compile(program, backend="eager", fullgraph=True)(leaf())
    assert error.value.gb_code == "GB0029"


def test_another_hook_is_another_entry():
    def program(x, hook):
        y = x * 2
        y.register_hook(hook)
        return y.sum()

    compiled = torch.compile(program, backend="eager", fullgraph=True)
    for hook, want in ((lambda g: g * 2, 4.0), (lambda g: g * 5, 10.0), (torch.neg, -2.0)):
        w = leaf()
        compiled(w, hook).backward()
        assert w.grad.tolist() == [want, want]


@pytest.mark.parametrize("call", [lambda m: m, lambda m: lambda x: m(x) + 1], ids=["the module", "a function"])
@pytest.mark.parametrize("hooked", ["", "1"], ids=["outer", "inner"])
def test_backward_hooks_of_modules_are_counted(hooked, call):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 1))
    seen = []
    model.get_submodule(hooked).register_full_backward_hook(lambda module, given, got: seen.append(len(given)))
    torch._dynamo.reset()
    torch._dynamo.utils.counters.clear()
    torch.compile(call(model), backend="eager")(leaf()).sum().backward()
    assert seen == [1] and codes() == {"GB0083"}
