"""Every op of the table inside vmap: what it gives for all examples at once is what it gives for each, stacked."""

import re
import warnings

import pytest

import minidynamo as torch

from ..tensor.drawn_calls import OPS, call_of, function_of, is_public
from ..tensor.op_calls import operands

pytestmark = pytest.mark.version_free  # one call each of ops, in the computing of which no Python takes part

PUBLIC = [name for name, op in OPS.items() if is_public(op)]
# The sizes of the result depend on values, or the value is read.
BY_VALUES = {
    "masked_select", "nonzero", "nonzero.tuple", "argwhere", "where.indices", "bincount", "unique", "unique.inverse",
    "unique.counts", "unique.both", "unique_consecutive", "unique_consecutive.inverse", "unique_consecutive.counts",
    "unique_consecutive.both", "repeat_interleave.repeats", "repeat_interleave.tensor",
}  # fmt: skip
RANDOM = {name for name, op in OPS.items() if op["kind"] == "random"} | {
    "bernoulli.fill", "exponential", "uniform", "cauchy", "geometric", "log_normal",
}  # fmt: skip
UNINITIALISED = re.compile(r"\b(new_)?empty(_like|_strided)?\b")
EXAMPLES = 3


def used(call):
    return [name for name in operands() if re.search(rf"\b{name}\b", re.sub(r"'[^']*'|\.\w+", "", call))]


def examples(t):
    """The same values in other places, so that what an op asks of values still holds."""
    if t.dim() == 0:
        return torch.stack([t, t, t])
    return torch.stack([t, t.flip(0), t.flip(-1)])


def leaves(value):
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, (list, tuple)):
        return [leaf for v in value for leaf in leaves(v)]
    return []


def same(found, wanted):
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if found.dtype.is_floating_point:
        torch.testing.assert_close(found, wanted, equal_nan=True, rtol=2e-5, atol=2e-5)
    else:
        assert torch.equal(found, wanted)


def one_at_a_time(function, given, batched):
    rows = []
    for i in range(EXAMPLES):
        rows.append(leaves(function(**{k: v[i] if k in batched else v for k, v in given.items()})))
    return [torch.stack(list(column)) for column in zip(*rows)]


def all_at_once(function, given, batched, dim):
    names = list(batched)

    def call(*tensors):
        others = {k: v for k, v in given.items() if k not in batched}
        return tuple(leaves(function(**others, **dict(zip(names, tensors)))))

    moved = [given[k].movedim(0, dim) for k in names]
    return torch.vmap(call, in_dims=dim, randomness="same")(*moved)


def choices(names):
    found = [tuple(names)]
    if len(names) > 1:
        found += [(name,) for name in names]
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_all_examples_at_once(name):
    call = call_of(name)
    function, names = function_of(call), used(call)
    if not names or name in RANDOM or UNINITIALISED.search(call) or "rand" in call or "normal" in call:
        return
    for batched in choices(names):
        for dim in (0, -1):
            given = {k: examples(v) if k in batched else v for k, v in operands().items()}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    wanted = one_at_a_time(function, given, batched)
                except Exception:
                    continue  # the examples do not fit what is asked of one
                try:
                    found = all_at_once(function, given, batched, dim)
                except RuntimeError as error:
                    written = "same for all of them" in str(error) and batched != tuple(names)  # in place to one of x
                    assert written or (name in BY_VALUES and "vmap" in str(error)), (call, batched, error)
                    continue
            assert len(found) == len(wanted), (call, batched)
            for a, b in zip(found, wanted):
                try:
                    same(a, b)
                except AssertionError as error:
                    raise AssertionError(f"{call} over {batched}: {error}") from None
