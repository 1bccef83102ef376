"""A function's view of its own namespace: locals(), vars(), dir(), exec, eval, f_locals; with and without breaks."""

import sys

import pytest

import minidynamo as torch
from frontend.differential import same

BODIES = {
    "exec stores": "exec('q = 3')\nr = locals().get('q')",
    "exec stores, eval reads": "exec('q = 3')\ntry:\n    r = eval('q')\nexcept NameError as e:\n    r = str(e)",
    "stored to": "d = locals(); d['q'] = 3\nz = 5\nr = locals().get('q'), locals() is d, d.get('z')",
    "vars": "d = vars(); d['q'] = 3\nr = vars().get('q'), vars() is d, locals() is d",
    "dir": "exec('q = 3')\nr = 'q' in dir(), 'k' in dir(), 'x' in dir()",
    "twice": "a = locals(); n = 7; b = locals()\nr = a is b, 'n' in a, 'n' in b",
    "overwritten": "locals()['k'] = 9\nr = k, locals()['k']",
    "deleted": "m = 1; d = locals(); del m\nr = 'm' in d, 'm' in locals()",
    "in a loop": "s = []\nfor i in range(3):\n    d = locals(); d['q'] = d.get('q', 0) + 1; s.append(d['q'])\nr = s",
    "exec with a namespace": "n = {}; exec('q = 3', n)\nr = n['q'], 'q' in locals()",
    "exec with two": "n = {}; exec('q = k', {'k': 8}, n)\nr = n, 'q' in locals()",
    "eval": "r = eval('k + 1')",
    "eval of a namespace": "r = eval('k', {'k': 5}), eval('k')",
    "exec defines": "exec('def g(): return 4')\nr = locals()['g']()",
    "exec changes": "exec('k = 10')\nr = k, locals()['k']",
    "f_locals": "locals()['q'] = 2\nn = sys._getframe().f_locals\nr = n.get('q'), sorted(n)[:2]",
    "nested": "c = 4\ndef g():\n    e = c; d = locals(); d['q'] = 1\n    return len(d), 'q' in locals()\nr = g()",
    "class body": "class K:\n    a = 1; locals()['q'] = 2; b = locals()\nr = K.q, K.b['a']",
    "comprehension": "r = [sorted(locals()) != [] for i in range(2)]",
    "generator": "def g():\n    d = locals(); d['q'] = 1\n    yield 1\n    yield 'q' in locals()\nr = list(g())",
    "bound later": "d = dict(locals())\nif k > 100:\n    late = 1\nr = sorted(d), 'late' in locals()",
}
BREAKS = {"none": None, "between": "between", "before": "before", "inside a callee": "callee"}


def build(body, where):
    mark = "torch._dynamo.graph_break()"
    lines = []
    for line in body.splitlines():
        lines.append("    " + line)
        if where == "between" and not line.startswith(" ") and not line.endswith(":") and line[:2] != "r ":
            lines.append("    " + mark)
    if lines and "try:" in body and where == "between":
        lines = ["    " + line for line in body.splitlines()]
    before = f"    {mark}\n" if where == "before" else "    helper()\n" if where == "callee" else ""
    source = "def f(x, k):\n    y = x + 1\n" + before + "\n".join(lines) + "\n    return y + k, r\n"
    scope = {"torch": torch, "sys": sys, "helper": helper}
    exec(source, scope)
    return scope["f"]


def helper():
    torch._dynamo.graph_break()


def outcome(f):
    """From 3.13 on, what exec() defines is in no later snapshot that locals() makes of a function."""
    try:
        y, r = f(torch.ones(2), 3)
    except KeyError as e:
        return KeyError, e.args
    return y.tolist(), r


@pytest.mark.parametrize("more", [False, True], ids=["", "trace_more"])
@pytest.mark.parametrize("where", BREAKS)
@pytest.mark.parametrize("body", BODIES)
def test_as_plain(body, where, more):
    f = build(BODIES[body], BREAKS[where])
    want = outcome(f)
    assert want[0] is not KeyError or sys.version_info >= (3, 13)
    with torch._dynamo.config.patch(trace_more=more):
        compiled = torch.compile(f, backend="eager")
        for _ in range(2):
            assert outcome(compiled) == want


def named(x):
    y = 1
    return x + len(locals())


def listed(x):
    y = 1  # noqa: F841
    return x + 1, sorted(vars())


def changed(x, k=3):
    y = 2
    d = locals()
    d["y"] = 7
    d["q"] = x
    return x + y, list(d), d["y"], k


def of_a_callee(x):
    def f(a, b=2):
        c = a
        return locals()

    return x + 1, f(3)


def of_a_closure(x):
    y = 1

    def f():
        return y, locals()

    return x + 1, f()


def unset(x):
    if x.shape[0] > 5:
        late = 1
    early = 2
    del early
    return x + 1, sorted(locals())


def into_a_text(x):
    scale, name = 3, "n"
    return x * scale, "{name}={scale}".format(**locals())


@pytest.mark.parametrize("function", [named, listed, changed, of_a_callee, of_a_closure, unset, into_a_text])
def test_one_look_is_traced(function):
    same(function, lambda: (torch.tensor([1.0, 2.0]),), frames=1, breaks=[])
