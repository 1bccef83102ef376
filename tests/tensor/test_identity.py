"""`is` says of the results of every op what it says plain: whether one is an operand, or another result.

The calls are those of the op table (drawn_calls) and arguments that leave nothing to do."""

import itertools
import re

import numpy as np
import pytest

import minidynamo as torch

from .drawn_calls import OPS, call_of, is_public
from .op_calls import operands

pytestmark = pytest.mark.usefixtures("no_defects")

NAMES = sorted(operands())
# x: contiguous float32, i: int64, m: bool, s: 0-d, c: three dimensions, d: float64
NOTHING_TO_DO = """
x.contiguous() | x.t().contiguous() | x.to(torch.float32) | x.to(torch.float64) | x.to(x) | x.to(d) | x.to('cpu')
x.to('cpu', torch.float32) | x.to(torch.float32, copy=True) | x.float() | d.float() | d.double() | i.long() | i.int()
x.half().half() | x.bfloat16().bfloat16() | m.bool() | i.bool() | x.cpu() | x.type_as(y) | x.type_as(i)
x.flatten() | x.flatten(0, 0) | v.flatten() | s.flatten() | x.flatten(start_dim=1, end_dim=1) | torch.flatten(c, 1, 1)
torch.atleast_1d(x) | torch.atleast_1d(s) | torch.atleast_2d(x) | torch.atleast_2d(v) | torch.atleast_3d(c)
torch.atleast_3d(x) | torch.atleast_1d(x, s) | torch.atleast_2d(x, v, c) | torch.atleast_1d([x, v])
torch.positive(x) | +x | torch.positive(input=x) | torch.atleast_2d(x).contiguous().float().cpu()
x.ravel() | x.t().ravel() | torch.ravel(v) | x.reshape(4, 6) | x.reshape(-1) | x.view(4, 6) | x.view_as(x)
x.expand(4, 6) | x.expand_as(x) | x.squeeze() | x.squeeze(0) | x.permute(0, 1) | x.transpose(0, 0) | x.movedim(0, 0)
x[:] | x[...] | x[()] | x.narrow(0, 0, 4) | x.detach() | x.clone() | x.unflatten(0, (4,)) | x.swapaxes(0, 0)
torch.broadcast_tensors(x, y) | torch.broadcast_to(x, (4, 6)) | torch.chunk(x, 1) | x.split(4) | torch.cat([x])
torch.nn.functional.dropout(x, 0.5, False) | torch.dropout(x, 0.5, False) | torch.nn.functional.dropout(x, 0.0, True)
torch.nn.functional.pad(x, (0, 0)) | torch.roll(x, 0, 0) | x.repeat(1, 1) | x.tile((1,)) | torch.ceil(i) | i.round()
i.floor() | i.trunc() | torch.abs(m.int()) | x.clamp() is None | x.add(0) | x.mul(1) | x.pow(1) | x ** 1 | x.add_(0)
x.mul_(1).add_(0) | x.copy_(y) | x.relu_() | x.zero_() | torch.real(x) | torch.conj(x) | x.resolve_conj() | x.adjoint()
x.nan_to_num() | x.masked_fill(x > 100, 0) | torch.where(x > -100, x, y) | x.type(torch.float32) | x.T | v.T
torch.einsum('ij->ij', x) | torch.clone(x) | torch.diagonal(x) | x.rot90(0) | x.flip(()) | torch.squeeze(s) | s.sum()
torch.nn.Identity()(x) | torch.as_tensor(x) | torch.special.round(i) | x.sum(()) | torch.tril(x, 9)
torch.out(x) | torch.add(x, 0, out=y) | torch.sort(v, out=(w, k[0])) | torch.nan_to_num(i) | torch.fix(i)
"""


def calls():
    found = {name: call_of(name) for name in OPS if is_public(OPS[name])}
    return sorted(
        {c for c in found.values() if c} | {c.strip() for c in re.split(r"[|\n]", NOTHING_TO_DO) if c.strip()}
    )


def functions(call):
    """Plain functions of all operands: the call once, and where that goes, on its own result once more."""
    first = re.search(rf"(?<![\w.'])([{''.join(NAMES)}])\b", call)
    again = first.group(1) if first else NAMES[0]
    everything = ", ".join(NAMES)
    bodies = [
        f"    r = {call}\n    return flags(r, ({everything})), r",
        f"    before = {again}\n    {again} = {call}\n    if not isinstance({again}, torch.Tensor): return None\n"
        f"    r = {call}\n    return flags(r, (before, {everything})), r",
        f"    {again} += 1\n    r = {call}\n    kept = [r]\n    return flags(kept[0], ({everything})), kept, r",
    ]
    for body in bodies:
        space = {"torch": torch, "flags": flags}
        exec(f"def f({everything}):\n{body}", space)
        yield space["f"]


def flags(result, others):
    results = result if isinstance(result, (tuple, list)) else [result]
    return [[r is o for o in others] for r in results], [r is q for r, q in zip(results, results[1:])]


def leaves(o):
    if isinstance(o, (tuple, list)):
        return list(itertools.chain.from_iterable(leaves(x) for x in o))
    return [o]


def outcome(f, make):
    """What the function says, and which of what it returns is one of the arguments or an earlier leaf."""
    given = make()
    torch.manual_seed(1)
    try:
        result = f(**given)
    except Exception as error:  # noqa: BLE001  whatever is raised is compared
        return type(error).__name__
    seen = {id(v): name for name, v in given.items()}
    return [
        seen.setdefault(id(v), k) if isinstance(v, (torch.Tensor, np.ndarray)) else v
        for k, v in enumerate(leaves(result))
    ]


def agree(f, make, **settings):
    torch._dynamo.reset()
    compiled = torch.compile(f, **settings)
    expected = outcome(f, make)
    for _ in range(2):
        assert outcome(compiled, make) == expected
    return expected


@pytest.mark.parametrize("call", calls())
def test_every_op(call):
    for f in functions(call):
        agree(f, operands)


@pytest.mark.parametrize("call", [c for c in calls() if "rand" not in c][::3])
def test_with_symbolic_sizes(call):
    for f in functions(call):
        agree(f, operands, dynamic=True)


def test_the_rule_is_followed():
    """Some of each outcome, so that the comparison compares something."""
    same = agree(next(functions("x.contiguous()")), operands)
    assert same[NAMES.index("x")] is True and same[-1] == "x"
    other = agree(next(functions("x.t().contiguous()")), operands)
    assert True not in other[: len(NAMES)]


def test_strides_decide_where_sizes_are_symbols():
    """One entry answers both ways only if guards tell them apart."""
    compiled = torch.compile(lambda x: x.contiguous() is x, dynamic=True)
    base = torch.arange(400.0)
    for sizes, strides in [
        ((3, 4), (4, 1)),
        ((5, 6), (6, 1)),
        ((5, 6), (7, 1)),
        ((3, 7), (7, 1)),
        ((4, 3), (1, 4)),
    ] * 2:
        x = base.as_strided(sizes, strides)
        assert compiled(x) == (x.contiguous() is x)


class Holder:
    pass


def test_identity_goes_on():
    def f(x, box, items):
        y = x.contiguous().float().cpu()
        box.kept = y
        items.append(y)
        if y is x:
            y.add_(1)
        known = {id(x): "x"}
        return known.get(id(y)), box.kept is items[-1], x in items, y, torch.atleast_2d(y) is x

    def run(g):
        x, box, items = torch.ones(2, 2), Holder(), []
        said = g(x, box, items)
        return said[0], said[1], said[2], said[4], said[3] is x, box.kept is x, items[0] is x, x.tolist()

    assert run(torch.compile(f)) == run(f)
    torch._dynamo.reset()

    def between_breaks(x):
        y = x.contiguous()
        torch._dynamo.graph_break()
        z = y.float()
        return y is x, z is y, z

    x = torch.ones(3)
    said = torch.compile(between_breaks)(x)
    assert said[:2] == (True, True) and said[2] is x


def test_subclasses_and_parameters():
    p = torch.nn.Parameter(torch.ones(2, 2), requires_grad=False)
    for call in ("p.contiguous()", "p.float()", "torch.atleast_2d(p)", "p.cpu()", "p.to(p)"):
        space = {"torch": torch}
        exec(f"def f(p): r = {call}; return r is p, type(r).__name__, r", space)
        plain, compiled = space["f"](p), torch.compile(space["f"])(p)
        assert compiled[:2] == plain[:2] and (compiled[2] is p) == (plain[2] is p), call
