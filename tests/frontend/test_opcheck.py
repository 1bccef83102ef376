"""opcheck: every test it reports as a success can fail, and what it has nothing to test of it says."""

import pytest

import minidynamo as torch
from minidynamo.library import custom_op, opcheck

ALL = ("test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic")


def operator(name, compute=lambda x: x * 2, fake=torch.empty_like):
    @custom_op(f"checked::{name}", mutates_args=())
    def op(x: torch.Tensor) -> torch.Tensor:
        return compute(x)

    op.register_fake(fake)
    return op


def test_a_good_operator():
    op = operator("good")
    op.register_autograd(lambda ctx, grad: grad * 2, setup_context=lambda ctx, inputs, output: None)
    assert opcheck(op, (torch.ones(3),)) == dict.fromkeys(ALL, "SUCCESS")


def test_without_a_formula_that_test_is_skipped():
    assert opcheck(operator("plain"), (torch.ones(3),))["test_autograd_registration"] == (
        "SKIPPED: no formula is registered"
    )


def writes(x):
    x.add_(1)
    return x * 2


class Calls:
    count = 0


def counts(x):
    Calls.count += 1
    return x * Calls.count


@pytest.mark.parametrize(
    "test, compute, fake, formula",
    [
        ("test_schema", writes, torch.empty_like, None),
        ("test_faketensor", torch.sum, torch.empty_like, None),
        ("test_faketensor", lambda x: x.to(torch.float64), torch.empty_like, None),
        ("test_aot_dispatch_dynamic", counts, torch.empty_like, None),
        ("test_autograd_registration", torch.neg, torch.empty_like, (lambda ctx: None, None)),
        ("test_autograd_registration", torch.neg, torch.empty_like, ("text", None)),
        ("test_autograd_registration", torch.neg, torch.empty_like, (lambda ctx, g: g, lambda ctx: None)),
    ],
)
def test_each_test_fails_where_it_should(test, compute, fake, formula, request):
    op = operator(f"bad{abs(hash(request.node.name))}", compute, fake)
    if formula is not None:
        op.register_autograd(formula[0], setup_context=formula[1])
    result = opcheck(op, (torch.ones(3),), raise_exception=False)
    assert isinstance(result[test], Exception)
