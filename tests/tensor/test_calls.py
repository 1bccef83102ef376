"""Creation, random numbers, writing in place, conversions, and what wrong calls say."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import minidynamo as torch
from tensor.oracle import (
    DTYPES,
    FLOATS,
    INTEGERS,
    RELAXED,
    assert_matches,
    broadcasting,
    dtype_of,
    elements,
    in_dtype,
    pairs,
    promoted,
)

# --- creation -----------------------------------------------------------------------------------------------


def test_creation_functions():
    cases = [
        (torch.zeros(2, 3), np.zeros((2, 3)), torch.float32),
        (torch.ones((2,), dtype=torch.int64), np.ones(2), torch.int64),
        (torch.full((2, 2), 7), np.full((2, 2), 7), torch.int64),
        (torch.full((2,), 1.5), np.full(2, 1.5), torch.float32),
        (torch.full((1,), True), np.ones(1), torch.bool),
        (torch.arange(5), np.arange(5), torch.int64),
        (torch.arange(1, 2, 0.25), np.arange(1, 2, 0.25), torch.float32),
        (torch.arange(5, 0, -2), np.arange(5, 0, -2), torch.int64),
        (torch.linspace(0, 1, 5), np.linspace(0, 1, 5), torch.float32),
        (torch.eye(2, 3), np.eye(2, 3), torch.float32),
        (torch.zeros_like(torch.ones(2, dtype=torch.int32)), np.zeros(2), torch.int32),
        (torch.ones_like(torch.ones(2), dtype=torch.bool), np.ones(2), torch.bool),
        (torch.full_like(torch.ones(2), 3), np.full(2, 3), torch.float32),
    ]
    for result, expected, dtype in cases:
        assert_matches(result, expected, dtype)
    assert torch.empty(3, 0).shape == (3, 0) and torch.empty_like(torch.ones(2, 2)).shape == (2, 2)


def test_random_numbers():
    torch.manual_seed(0)
    x = torch.randn(20000)
    assert abs(x.mean().item()) < 0.03 and abs(x.std().item() - 1) < 0.03
    u = torch.rand(20000)
    assert 0 <= u.min().item() and u.max().item() < 1 and abs(u.mean().item() - 0.5) < 0.02
    assert torch.rand(2, 3, dtype=torch.float64).dtype is torch.float64
    assert set(torch.randint(3, (1000,)).tolist()) == {0, 1, 2}


def test_random_numbers_in_place():
    torch.manual_seed(0)
    x = torch.zeros(20000)
    assert x.uniform_(-1, 3) is x
    assert -1 <= x.min().item() and x.max().item() < 3 and abs(x.mean().item() - 1) < 0.05
    x.uniform_(**{"from": 5.0, "to": 6.0})
    assert 5 <= x.min().item() <= x.max().item() < 6
    x.normal_(2, 0.5)
    assert abs(x.mean().item() - 2) < 0.03 and abs(x.std().item() - 0.5) < 0.03
    assert set(torch.zeros(1000, dtype=torch.int32).random_(3).tolist()) == {0, 1, 2}
    assert set(torch.zeros(1000).random_(-2, 1).tolist()) == {-2.0, -1.0, 0.0}
    assert set(torch.zeros(100, dtype=torch.bool).random_().tolist()) == {True, False}
    drawn = torch.zeros(100).random_()
    assert drawn.max().item() < 2**24 and (drawn == drawn.floor()).all()
    for call, error in (
        (lambda: x.uniform_(2, 1), RuntimeError),
        (lambda: x.uniform_("a"), TypeError),
        (lambda: x.normal_(0, -1), RuntimeError),
        (lambda: x.random_(5, 5), RuntimeError),
        (lambda: x.random_(1.5), TypeError),
        (lambda: torch.zeros(2, dtype=torch.int64).uniform_(), NotImplementedError),
        (lambda: torch.zeros(1).expand(3).uniform_(), RuntimeError),
    ):
        with pytest.raises(error):
            call()


def test_wrong_creation():
    for call, error in (
        (lambda: torch.zeros("a"), TypeError),
        (lambda: torch.zeros(2.5), TypeError),
        (lambda: torch.zeros(-1), RuntimeError),
        (lambda: torch.zeros(2, dtype="f"), TypeError),
        (lambda: torch.zeros(2, colour=3), TypeError),
        (lambda: torch.arange(0, 5, 0), RuntimeError),
        (lambda: torch.arange(0, 5, -1), RuntimeError),
        (lambda: torch.full((2,), "a"), TypeError),
        (lambda: torch.zeros(2**62, 2**62), (RuntimeError, MemoryError)),
        (lambda: torch.eye(-1), RuntimeError),
    ):
        with pytest.raises(error):
            call()


# --- in place -----------------------------------------------------------------------------------------------


@given(broadcasting((*FLOATS, *INTEGERS)))
@RELAXED
def test_inplace_add_broadcasts_and_keeps_the_dtype(both):
    (a, x), (b, y) = both
    x = x.clone()
    before = x.tolist()
    fits = np.broadcast_shapes(a.shape, b.shape) == a.shape
    lossless = not (promoted(a, b).is_floating_point and not x.dtype.is_floating_point)
    if not (fits and lossless):
        with pytest.raises(RuntimeError):
            x.add_(y)
        np.testing.assert_array_equal(np.array(x.tolist()), np.array(before))
        return
    dtype = promoted(a, b)
    with np.errstate(all="ignore"):
        expected = np.add(*in_dtype(dtype, a, b))
    assert x.add_(y) is x
    assert_matches(x, expected, dtype_of(a))


def test_inplace_on_views_and_overlap():
    x = torch.arange(6.0).reshape(2, 3)
    x.t()[1].mul_(10)
    assert x.tolist() == [[0, 10, 2], [3, 40, 5]]
    x[:, 1:] += x[:, :2]
    assert x.tolist() == [[0, 10, 12], [3, 43, 45]]
    y = torch.arange(4.0)
    y.copy_(torch.arange(4.0).unsqueeze(1).t()[0] * 2)
    assert y.tolist() == [0, 2, 4, 6]
    z = torch.ones(1).expand(3)
    with pytest.raises(RuntimeError):
        z.add_(1)


def test_inplace_version_counter():
    x = torch.zeros(2)
    view, before = x[0], x._version
    x.add_(1)
    view.mul_(2)
    x[1] = 3
    assert x._version == view._version >= before + 3
    _ = x + 1
    assert x._version == view._version


def test_fill_functions():
    x = torch.ones(2, 2, dtype=torch.int64)
    assert x.fill_(7) is x and x.tolist() == [[7, 7], [7, 7]]
    x.t().zero_()
    assert x.tolist() == [[0, 0], [0, 0]]
    x.copy_(torch.tensor([1.9, -1.9]))
    assert x.tolist() == [[1, -1], [1, -1]]
    with pytest.raises(RuntimeError):
        x.copy_(torch.ones(3))
    assert x.copy_(5) is x and x.tolist() == [[5, 5], [5, 5]]
    assert x.copy_(other=torch.tensor(4), non_blocking=True).tolist() == [[4, 4], [4, 4]]
    assert torch.zeros(1, dtype=torch.uint8).copy_(300).tolist() == torch.zeros(1).byte().copy_(300.9).tolist() == [44]
    assert torch.zeros(1).copy_(1e300).tolist() == [float("inf")] and torch.zeros(1).bool().copy_(2).tolist() == [True]
    for value in (None, "a", [1]):
        with pytest.raises(TypeError):
            x.copy_(value)


# --- conversions and questions ------------------------------------------------------------------------------


@given(pairs(), st.sampled_from(DTYPES))
@RELAXED
def test_conversion(pair, target):
    array, tensor = pair
    limits = np.iinfo(target) if target in INTEGERS else None
    if limits is not None and array.dtype in FLOATS:
        inside = np.isfinite(array) & (array > float(limits.min)) & (array < float(limits.max))
        if not inside.all():
            return
    with np.errstate(all="ignore"):
        expected = array.astype(target)
    dtype = dtype_of(np.zeros(1, target))
    assert_matches(tensor.to(dtype), expected, dtype)
    method = {
        torch.float32: "float",
        torch.float64: "double",
        torch.int32: "int",
        torch.int64: "long",
        torch.bool: "bool",
    }
    assert_matches(getattr(tensor, method[dtype])(), expected, dtype)


def test_equality_of_tensors():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0 + 1e-6])
    assert torch.equal(x, x.clone()) and not torch.equal(x, y) and not torch.equal(x, x[:1])
    assert torch.allclose(x, y) and not torch.allclose(x, y, rtol=0, atol=1e-9)
    nan = torch.tensor([float("nan")])
    assert not torch.equal(nan, nan.clone()) and not torch.allclose(nan, nan)
    assert torch.allclose(nan, nan, equal_nan=True)
    assert x.equal(x) is True and x.allclose(x + 1) is False


WRONG_CALLS = [
    ("torch.sin()", TypeError, "sin"),
    ("torch.sin(1)", TypeError, "must be Tensor, not int"),
    ("torch.sin(x, x)", TypeError, "takes 1 positional argument but 2 were given"),
    ("torch.sin('a')", TypeError, "sin"),
    ("torch.sin({})", TypeError, "dict"),
    ("torch.add(x)", TypeError, "add"),
    ("x.add()", TypeError, "add"),
    ("x.sum(foo=1)", TypeError, "foo"),
    ("x + torch.ones(7)", RuntimeError, "must match|broadcast"),
    ("x @ torch.ones(7)", RuntimeError, "mat|size"),
    ("x.view(7)", RuntimeError, "invalid for input of size"),
    ("x.t().view(6)", RuntimeError, "reshape"),
    ("x.sum(5)", IndexError, "Dimension out of range"),
    ("x.transpose(0, 9)", IndexError, "Dimension out of range"),
    ("x.expand(9, 9)", RuntimeError, "expand"),
    ("x.size(4)", IndexError, "Dimension out of range"),
    ("x.size('a')", TypeError, "str"),
    ("x.sum(1j)", TypeError, "complex"),
    ("x.permute(0, 0)", RuntimeError, "dim"),
    ("torch.zeros(2).item()", RuntimeError, "cannot be converted to Scalar"),
    ("x.add(2**70)", RuntimeError, "Overflow"),
]


@pytest.mark.parametrize(("source", "error", "text"), WRONG_CALLS, ids=[row[0] for row in WRONG_CALLS])
def test_wrong_calls(source, error, text):
    x = torch.ones(2, 3)
    with pytest.raises(error, match=text):
        eval(source, {"torch": torch, "x": x})
    assert x.tolist() == [[1.0] * 3] * 2


@given(st.data())
@RELAXED
def test_elements_survive_a_round_trip(data):
    dtype = data.draw(st.sampled_from(DTYPES))
    values = data.draw(st.lists(elements(dtype), max_size=5))
    array = np.array(values, dtype=dtype)
    assert_matches(torch.tensor(values, dtype=dtype_of(array)), array, dtype_of(array))
