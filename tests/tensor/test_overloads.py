"""Forms of an operation that a parameter chooses: values as NumPy's, alone, in place and compiled."""

import numpy as np
import pytest

import minidynamo as torch
from frontend.differential import same

LEFT = [7.25, -7.25, 0.5, -0.125]
RIGHT = [2.0, 2.0, -0.75, 3.0]


def pair(kind):
    return np.array(LEFT, kind), np.array([v if v % 1 == 0 else -3 for v in RIGHT], kind)


def agree(function, want, make_args):
    got = function(*make_args()).numpy()
    assert got.dtype == want.dtype and got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-6)
    same(lambda *args: function(*args) + 0, make_args, frames=1, breaks=[])


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_scaled_sums(kind):
    a, b = pair(kind)

    def tensors():
        return torch.tensor(a), torch.tensor(b)

    agree(lambda x, y: torch.sub(x, y, alpha=2), a - 2 * b, tensors)
    agree(lambda x, y: torch.add(x, y, alpha=-3), a - 3 * b, tensors)
    agree(lambda x, y: x.sub_(y, alpha=2), a - 2 * b, tensors)
    agree(lambda x, y: x.sub(1, alpha=4), a - 4, tensors)


@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int64])
def test_rounded_quotients(kind):
    a, b = pair(kind)
    quotient = a.astype(np.float64) / b

    def tensors():
        return torch.tensor(a), torch.tensor(b)

    agree(lambda x, y: torch.div(x, y, rounding_mode="trunc"), np.trunc(quotient).astype(kind), tensors)
    agree(lambda x, y: torch.div(x, y, rounding_mode="floor"), np.floor(quotient).astype(kind), tensors)
    agree(lambda x, y: x.div_(y, rounding_mode="trunc"), np.trunc(quotient).astype(kind), tensors)
    exact = np.float32 if kind == np.int64 else kind
    agree(lambda x, y: torch.div(x, y, rounding_mode=None), quotient.astype(exact), tensors)


def test_unknown_rounding_is_refused():
    same(lambda x: torch.div(x, 2, rounding_mode="up"), lambda: (torch.tensor(LEFT),))


@pytest.mark.parametrize("decimals", [-1, 0, 1, 2])
def test_rounding_to_decimals(decimals):
    a = np.array([3.14159, -2.71828, 15.5, 24.999, 0.05])
    agree(lambda x: torch.round(x, decimals=decimals), np.round(a, decimals), lambda: (torch.tensor(a),))
    agree(lambda x: x.round_(decimals=decimals), np.round(a, decimals), lambda: (torch.tensor(a),))


@pytest.mark.parametrize("unbiased", [True, False])
def test_spread_by_position(unbiased):
    a = np.array([LEFT, RIGHT])

    def tensor():
        return (torch.tensor(a),)

    ddof = 1 if unbiased else 0
    agree(lambda x: x.var(unbiased), a.var(ddof=ddof), tensor)
    agree(lambda x: torch.std(x, unbiased), a.std(ddof=ddof), tensor)
    agree(lambda x: x.var(1, unbiased), a.var(1, ddof=ddof), tensor)
    agree(lambda x: torch.std(x, 0, unbiased, True), a.std(0, ddof=ddof, keepdims=True), tensor)


READ = (
    lambda x, one: torch.cummax(x, one)[0],
    lambda x, one: torch.diag(x, one),
    lambda x, one: torch.topk(x, one).values,
    lambda x, one: x.split(one)[1],
    lambda x, one: torch.nn.functional.leaky_relu(-x, one / 4),
    lambda x, one: torch.nan_to_num(x / 0, nan=one / 2),
    lambda x, one: torch.full_like(x, one),
    lambda x, one: torch.add(x, x, alpha=one),
    lambda x, one: torch.zeros(one + 2),
    lambda x, one: torch.std(x, one),
    lambda x, one: x.flip(one),
)


@pytest.mark.parametrize("function", READ)
def test_tensors_of_one_number_stand_for_it(function):
    x = torch.tensor(pair(np.float32)).reshape(2, 4)
    assert function(x, torch.tensor(1)).tolist() == function(x, 1).tolist()
    same(lambda one: function(torch.arange(8.0).reshape(2, 4), one) + 0, lambda: (torch.tensor(1),))


def test_which_tensors_stand_for_a_number():
    x = torch.ones(2, 2)
    for given in (torch.tensor(1.0), torch.tensor(True), torch.tensor([1])):
        with pytest.raises(TypeError, match="argument 'diagonal' .* must be int, not Tensor"):
            torch.diag(x, given)
    with pytest.raises(TypeError, match="must be Number, not Tensor"):
        torch.full_like(x, torch.tensor(1.0, requires_grad=True))
    assert torch.nan_to_num(x / 0 * 0, nan=True).tolist() == [[1, 1], [1, 1]]
