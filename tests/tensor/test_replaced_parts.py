"""Copies with a part replaced or reduced, against the same written through a view; gradients to both operands."""

import pytest

import minidynamo as torch


def numbers(*shape, start=0.5):
    count = 1
    for size in shape:
        count *= size
    return (torch.arange(count, dtype=torch.float64) + start).reshape(shape)


CASES = {
    "slice": (lambda x, s: torch.slice_scatter(x, s, 1, 1, 4, 2), lambda x: x[:, 1:4:2]),
    "slice to the end": (lambda x, s: x.slice_scatter(s, 0, -2), lambda x: x[-2:]),
    "slice beyond": (lambda x, s: x.slice_scatter(s, start=1, end=100), lambda x: x[1:]),
    "select": (lambda x, s: torch.select_scatter(x, s, -1, -1), lambda x: x[:, -1]),
    "row": (lambda x, s: x.select_scatter(s, dim=0, index=1), lambda x: x[1]),
    "diagonal": (lambda x, s: torch.diagonal_scatter(x, s, 1), lambda x: x.diagonal(1)),
    "diagonal below": (lambda x, s: x.diagonal_scatter(s, -1, 0, 1), lambda x: x.diagonal(-1)),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("compiled", [False, True])
def test_a_part_replaced(name, compiled):
    call, part = CASES[name]
    torch._dynamo.reset()
    function = torch.compile(call, fullgraph=True) if compiled else call
    x = numbers(3, 4).requires_grad_()
    src = numbers(*part(x).shape, start=100.0).requires_grad_()
    out = function(x, src)
    expected = x.detach().clone()
    part(expected).copy_(src.detach())
    assert out.tolist() == expected.tolist() and x.tolist() == numbers(3, 4).tolist()
    weights = numbers(3, 4)
    (out * weights).sum().backward()
    assert src.grad.tolist() == part(weights).tolist()
    part(weights).zero_()
    assert x.grad.tolist() == weights.tolist()


@pytest.mark.parametrize("self_too", [True, False])
@pytest.mark.parametrize("how, combine", [("amax", max), ("amin", min), ("prod", None), ("mean", None)])
def test_rows_reduced(how, combine, self_too):
    x, source = numbers(3, 2), numbers(3, 2, start=-2.0)
    index = torch.tensor([0, 0, 2])
    rows = {0: [0, 1], 2: [2]}
    expected = x.tolist()
    for row, places in rows.items():
        for column in range(2):
            values = [source[p, column].item() for p in places] + ([x[row, column].item()] if self_too else [])
            product = 1.0
            for v in values:
                product *= v
            found = combine(values) if combine else product if how == "prod" else sum(values) / len(values)
            expected[row][column] = found
    got = torch.index_reduce(x, 0, index, source, how, include_self=self_too)
    assert torch.allclose(got, torch.tensor(expected, dtype=torch.float64))
    assert torch.allclose(x.T.index_reduce(1, index, source.T, how, include_self=self_too), got.T)
    y = x.clone()
    assert y.index_reduce_(0, index, source, how, include_self=self_too) is y and torch.equal(y, got)


@pytest.mark.parametrize(
    "call, error",
    [
        (lambda x: torch.slice_scatter(x, x[:2], 0), RuntimeError),
        (lambda x: torch.slice_scatter(x, x, 0, step=0), RuntimeError),
        (lambda x: torch.select_scatter(x, x[0], 1, 0), RuntimeError),
        (lambda x: torch.select_scatter(x, x[0], 0, 5), IndexError),
        (lambda x: torch.diagonal_scatter(x, x[0]), RuntimeError),
        (lambda x: x.index_reduce(0, torch.tensor([0]), x[:1], "sum"), RuntimeError),
        (lambda x: x.index_reduce(0, torch.tensor([0]), x, "amax"), RuntimeError),
    ],
)
def test_what_does_not_fit(call, error):
    with pytest.raises(error):
        call(numbers(3, 4))
