"""Methods that change sizes or memory of a tensor in place."""

import pytest

import minidynamo as torch


def counting():
    return torch.arange(6.0).reshape(2, 3)


def test_views_in_place():
    x = counting()
    address = x.data_ptr()
    assert x.t_() is x and x.tolist() == [[0, 3], [1, 4], [2, 5]] and x.stride() == (1, 3)
    assert x.unsqueeze_(1) is x and x.shape == (3, 1, 2)
    assert x.transpose_(0, 2).shape == (2, 1, 3)
    assert x.squeeze_().shape == (2, 3) and x.unsqueeze_(0).squeeze_(0).shape == (2, 3)
    assert x.data_ptr() == address and x.tolist() == counting().tolist()


def test_views_in_place_refuse_what_the_views_refuse():
    x = counting()
    for call, error in (
        (lambda: x.unsqueeze_(7), IndexError),
        (lambda: x.transpose_(0, 5), IndexError),
        (lambda: torch.ones(2, 2, 2).t_(), RuntimeError),
        (lambda: x.t_(1), TypeError),
    ):
        with pytest.raises(error):
            call()
    assert x.shape == (2, 3)


def test_resize():
    x = counting()
    assert x.resize_(2) is x and x.tolist() == [0, 1]
    assert x.resize_((2, 2)).tolist() == [[0, 1], [2, 3]]
    assert x.resize_(2, 3).tolist() == counting().tolist()
    x.resize_(10)
    assert x.shape == (10,) and x.tolist()[:6] == [0, 1, 2, 3, 4, 5]
    assert counting().t().resize_(2, 2).stride() == (2, 1)
    assert counting().resize_as_(torch.ones(1, 2)).tolist() == [[0, 1]]
    assert counting()[0].resize_(4).tolist() == [0, 1, 2, 3]
    assert counting().resize_(0).shape == (0,) and counting().resize_(()).shape == ()


def test_memory_grows_for_all_that_share_it():
    x = torch.arange(4.0)
    part = x[1:3]
    grown = part.resize_(6)
    assert grown is part and x.tolist() == [0, 1, 2, 3] and part.tolist()[:3] == [1, 2, 3]
    part.fill_(9)
    assert x.tolist() == [0, 9, 9, 9] and part.data_ptr() == x.data_ptr() + 4
    flat, square = torch.zeros(4), None
    square = flat.view(2, 2)
    with pytest.warns(UserWarning, match="resized"):
        torch.arange(9.0, out=square)
    assert square.shape == (9,) and flat.tolist() == [0, 1, 2, 3]
    whole = torch.zeros(2).detach()
    whole.detach().resize_(100_000).fill_(5)
    assert whole.tolist() == [5, 5]


def test_resize_refuses():
    x = counting()
    for call, error, text in (
        (lambda: x.resize_(-1), RuntimeError, "negative"),
        (lambda: x.resize_(2.5), TypeError, "must be ints"),
        (lambda: x.resize_(2**40, 2**40), RuntimeError, "overflowed"),
        (lambda: x.resize_(2**62), RuntimeError, "overflowed"),
        (lambda: torch.ones(2, requires_grad=True).resize_(1), RuntimeError, "require grad"),
        (lambda: x.resize_as_(3), TypeError, "must be Tensor"),
    ):
        with pytest.raises(error, match=text):
            call()
    assert x.tolist() == counting().tolist()


def test_set():
    source, x = counting(), torch.zeros(2)
    assert x.set_(source, 1, (2,), (1,)) is x and x.tolist() == [1, 2]
    x[0] = 9
    assert source[0, 1].item() == 9
    assert torch.zeros(2).set_(source).shape == (2, 3)
    assert torch.zeros(2).set_(source, 0, (3, 2)).stride() == (2, 1)
    assert torch.zeros(2).set_().shape == (0,)


@pytest.mark.parametrize(
    "arguments", [(1, (9,), (1,)), (-1, (2,), (1,)), (0, (2,), (6,)), (0, (2, 2), (1,)), (5, (2,)), (0, (2**62, 2**62))]
)
def test_set_stays_inside_the_source(arguments):
    with pytest.raises(RuntimeError, match="reach outside|overflowed"):
        torch.zeros(2).set_(counting(), *arguments)


def test_set_refuses_other_dtypes():
    with pytest.raises(RuntimeError, match="dtype float32, not int64"):
        torch.zeros(2).set_(torch.arange(2))
    with pytest.raises(TypeError, match="must be Tensor"):
        torch.zeros(2).set_([1])


def test_data():
    x, y = torch.zeros(2), torch.ones(3)
    x.data = y
    assert x.tolist() == [1, 1, 1] and x.data_ptr() == y.data_ptr() == x.data.data_ptr()
    with pytest.raises(TypeError):
        x.data = [1]


def test_real_and_imag():
    x = torch.zeros(2)
    assert x.real is x and not x.is_neg() and not x.is_conj()
    x.real = torch.tensor([1, 2])
    assert x.tolist() == [1.0, 2.0]
    with pytest.raises(RuntimeError, match="non-complex"):
        x.imag  # noqa: B018


def test_more_views_in_place():
    x = counting()
    assert x.swapaxes_(0, 1) is x and x.shape == (3, 2)
    assert x.swapdims_(0, 1).tolist() == counting().tolist()
    assert x.as_strided_((2, 2), (1, 1)) is x and x.tolist() == [[0, 1], [1, 2]]
    with pytest.raises(RuntimeError):
        x.as_strided_((2, 9), (1, 1))
    y = counting().requires_grad_()
    assert y.detach_() is y and not y.requires_grad
    with pytest.raises(TypeError):
        y.detach_(1)
