"""Selective checkpoints: what the policy is asked, what runs a second time, and what is refused."""

import functools

import pytest

import minidynamo as torch
from minidynamo._dynamo.testing import CompileCounter
from minidynamo.utils._python_dispatch import TorchDispatchMode
from minidynamo.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
    set_checkpoint_early_stop,
)

aten = torch.ops.aten
SAVE, AGAIN = CheckpointPolicy.MUST_SAVE, CheckpointPolicy.PREFER_RECOMPUTE


def chain(x, w):
    return torch.sin(x @ w).exp()


def operands():
    x = torch.arange(6.0).reshape(2, 3) / 7
    w = torch.arange(9.0).reshape(3, 3) / 5 - 1
    return x.requires_grad_(), w.requires_grad_()


def gradients(chosen, function=chain, **options):
    x, w = operands()
    contexts = functools.partial(create_selective_checkpoint_contexts, chosen, **options)
    checkpoint(function, x, w, use_reentrant=False, context_fn=contexts).sum().backward()
    return x.grad.tolist(), w.grad.tolist()


def plain_gradients():
    x, w = operands()
    chain(x, w).sum().backward()
    return x.grad.tolist(), w.grad.tolist()


def only_products(ctx, op, *args, **kwargs):
    return SAVE if op is aten.mm.default else AGAIN


CHOICES = [
    only_products,
    [aten.mm.default],
    [],
    [aten.mm.default, aten.sin.default, aten.exp.default],
    lambda ctx, op, *args: op is aten.sin.default,  # a bool, as policies once gave
    lambda ctx, op, *args, **kwargs: CheckpointPolicy.PREFER_SAVE,
    lambda ctx, op, *args, **kwargs: CheckpointPolicy.MUST_RECOMPUTE,
]


@pytest.mark.parametrize("chosen", CHOICES)
def test_gradients_are_those_without_a_checkpoint(chosen):
    assert gradients(chosen) == plain_gradients()


def test_the_policy_is_asked_in_both_runs():
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append((ctx.is_recompute, str(op), len(args)))
        return only_products(ctx, op)

    gradients(policy)
    one_run = [("aten.mm.default", 2), ("aten.sin.default", 1), ("aten.exp.default", 1)]
    assert asked == [(again, *one) for again in (False, True) for one in one_run]


class Counting(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.names.append(func.__name__.split(".")[0])
        return func(*args, **(kwargs or {}))


def test_what_is_kept_does_not_run_again():
    seen = {}
    for name, chosen in (("all", []), ("kept", [aten.mm.default])):
        with Counting() as mode:
            gradients(chosen)
        seen[name] = mode.names.count("mm")
    assert seen == {"all": 4, "kept": 3}  # two of them are gradients


def test_what_was_kept_and_written_to():
    def writes(x, w):
        product = x @ w
        result = product * 2
        product.add_(1)
        return result.exp()

    with pytest.raises(RuntimeError, match="changed in place"):
        gradients([aten.mm.default], writes)
    gradients([aten.mm.default], writes, allow_cache_entry_mutation=True)


def test_a_second_backward_finds_nothing():
    x, w = operands()
    contexts = functools.partial(create_selective_checkpoint_contexts, only_products)
    loss = checkpoint(chain, x, w, use_reentrant=False, context_fn=contexts).sum()
    loss.backward(retain_graph=True)
    with pytest.raises(RuntimeError, match="no result of it is left"):
        loss.backward()


@pytest.mark.parametrize(
    "wrong, error", [(3, TypeError), ([3], ValueError), ([aten.mm], ValueError), (None, TypeError)]
)
def test_no_policy(wrong, error):
    with pytest.raises(error):
        create_selective_checkpoint_contexts(wrong)


def test_a_policy_that_raises():
    def policy(ctx, op, *args, **kwargs):
        raise KeyError(str(op))

    with pytest.raises(KeyError, match="aten.mm.default"):
        gradients(policy)
    assert gradients([]) == plain_gradients()  # no mode is left behind


def test_early_stop_is_a_setting():
    for enable in (True, False):
        with set_checkpoint_early_stop(enable):
            assert gradients([aten.mm.default]) == plain_gradients()


def test_a_policy_with_variables_in_compiled_code():
    asked = []

    def policy(ctx, op, *args, **kwargs):
        asked.append(op)
        return SAVE

    def f(x, w):
        contexts = functools.partial(create_selective_checkpoint_contexts, policy)
        return checkpoint(chain, x, w, use_reentrant=False, context_fn=contexts).sum()

    counter = CompileCounter()
    x, w = operands()
    torch.compile(f, backend=counter, fullgraph=True)(x, w).backward()
    assert (x.grad.tolist(), w.grad.tolist()) == plain_gradients() and counter.frame_count == 1 and not asked
