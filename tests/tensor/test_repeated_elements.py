"""Compiled code on tensors whose elements repeat (expanded) or start inside a storage, and on values assigned with more
dimensions than their place."""

import pytest

import minidynamo as torch


def check(function, *makers):
    torch._dynamo.reset()
    expected_args, args = [m() for m in makers], [m() for m in makers]
    expected, actual = function(*expected_args), torch.compile(function, fullgraph=True)(*args)
    for e, a in zip([*expected, *expected_args], [*actual, *args], strict=True):
        assert (a.dtype, a.shape, a.stride()) == (e.dtype, e.shape, e.stride())
        assert torch.equal(a.nan_to_num(), e.nan_to_num())


def rows(x, n):
    return x.unsqueeze(0).expand(n, *x.shape)


def columns(x, n):
    return x.unsqueeze(-1).expand(*x.shape, n)


FOLDS = {
    "sum": lambda y, d: (y.sum(d), y + 1),
    "sum of a copy": lambda y, d: ((y + 0).sum(d), (y + 0) * 2),
    "centred": lambda y, d: (y - y.amax(d, keepdim=True),),
    "normalised": lambda y, d: (y / (y + 1).sum(d, keepdim=True), y + 1),
    "softmax": lambda y, d: (y.softmax(d),),
    "repeated": lambda y, d: (lambda r: (r.sum(d), r - r.amin(d, keepdim=True)))(y.repeat(2, 2)),
    "total": lambda y, d: (y.sum(), y * 3),
}


@pytest.mark.parametrize("name", FOLDS)
@pytest.mark.parametrize("spread", [rows, columns])
@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("size", [(3, 2), (5, 70), (70, 5), (1, 4), (3, 1100)])
def test_folds_beside_other_uses_of_an_expanded_tensor(name, spread, dim, size):
    length, n = size
    check(lambda x: FOLDS[name](spread(x, n), dim), lambda: torch.arange(float(length)))


def test_few_long_rows_of_one_element():
    check(lambda x: (x.expand(2, 200_000).sum(1), x.expand(2, 200_000) + 1), lambda: torch.ones(1))
    check(lambda x: (x.expand(200_000).sum(), x.expand(200_000) + 1), lambda: torch.ones(1))
    check(lambda x: ((x.expand(2, 200_000) + 1).softmax(1),), lambda: torch.ones(1))


COPIES = {
    "repeat": lambda x: (x.clone().repeat(2, 1),),
    "expand": lambda x: (x.clone().expand(2, 4) + 0,),
    "view": lambda x: (x.clone().view(2, 2).t().contiguous(), x.clone()[1:] * 2),
    "as_strided": lambda x: (x.clone().as_strided((2,), (2,), 1) + 1,),
    "times one": lambda x: ((x * 1).view(2, 2).sum(0), (x + 0.0).expand(3, 4) * 2),
    "converted": lambda x: (x.double().float().view(2, 2) + 1,),
    "written": lambda x: (torch.zeros(4).copy_(x)[1:] + 1,),
}


@pytest.mark.parametrize("name", COPIES)
def test_views_of_a_copy_start_where_the_copy_does(name):
    check(COPIES[name], lambda: torch.arange(8.0)[4:])


@pytest.mark.parametrize("index", [0, slice(None), ..., slice(1, 2), (slice(None), 1), (None, 0)])
@pytest.mark.parametrize("lead", [1, 2, 3])
@pytest.mark.parametrize("backend", ["inductor", "eager"])
def test_leading_ones_of_an_assigned_value_are_dropped(index, lead, backend):
    def write(z, v):
        z[index] = v
        return z

    last = 1 if index == (slice(None), 1) else 3
    make = lambda: (torch.zeros(2, 3), torch.arange(float(last)).view(*[1] * lead, last) + 1)  # noqa: E731
    torch._dynamo.reset()
    expected, actual = write(*make()), torch.compile(write, backend=backend, fullgraph=True)(*make())
    assert torch.equal(actual, expected)


def test_a_tensor_assigned_to_its_own_element():
    def write(y):
        y[0] = y
        return (y,)

    check(write, lambda: torch.ones(1))


@pytest.mark.parametrize("dynamic", [False, True])
def test_results_that_no_element_of_the_fold_reaches(dynamic):
    def spread(x):
        v = x.sum(0) + 1
        return v * x, v, x.amax(1)

    torch._dynamo.reset()
    compiled = torch.compile(spread, dynamic=dynamic)
    for rows in (5, 3, 0):
        x = torch.ones(rows, 3)
        for e, a in zip(spread(x), compiled(x), strict=True):
            assert torch.equal(a, e)
    empty = torch.ones(0, 3)
    check(lambda x: (x.var(0) * x, x.var(0)), lambda: empty)
