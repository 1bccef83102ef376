"""Operators that the package writes in Python refuse arguments as those in C do: an error of the operation under
fullgraph, plain Python's exception without. Where a handler sees the exception, it is traced like any other."""

import pytest

import minidynamo as torch
from minidynamo._dynamo.exc import TorchRuntimeError, Unsupported

F = torch.nn.functional

RUNTIME = [
    lambda x: torch.linalg.inv(x),
    lambda x: torch.linalg.qr(x, mode="wrong"),
    lambda x: torch.linalg.vander(x, N=-1),
    lambda x: torch.fft.fft(x, norm="bad"),
    lambda x: torch.fft.fftn(x, s=(1, 2, 3)),
    lambda x: torch.stft(x, 10),
    lambda x: F.pad(x, (1,)),
    lambda x: F.mse_loss(x, x, reduction="bad"),
    lambda x: torch.nn.MSELoss(reduction="bad")(x, x),
    lambda x: F.embedding(x, x),
    lambda x: torch.cov(x[None]),
    lambda x: torch.hann_window(-1),
    lambda x: torch.stack([torch.linalg.det(v) for v in (x, x)]),
]
WRONG_KINDS = [
    lambda x: torch.is_nonzero(1),
    lambda x: torch.resolve_conj(1),
    lambda x: torch.resolve_neg(input="a"),
    lambda x: torch.numel(1),
    lambda x: torch.is_complex([x]),
    lambda x: torch.equal(x, 1),
    lambda x: torch.allclose(x, 1, rtol=0.5),
    lambda x: torch.result_type(x, "a"),
    lambda x: torch.promote_types(x, x),
    lambda x: x.sum().item(foo=1),
]
INDEX = [lambda x: torch.fft.fft(x, dim=4), lambda x: x.sum(dim=5), lambda x: torch.softmax(x, 7)]


def rectangle():
    return torch.ones(2, 3)


def outcome(function, **options):
    torch._dynamo.reset()
    with pytest.raises(Exception) as failed:  # noqa: PT011  which one is what is asked
        torch.compile(function, backend="eager", **options)(rectangle())
    return failed.value


@pytest.mark.parametrize("function", RUNTIME)
def test_refusals(function):
    with pytest.raises(Exception) as plain:  # noqa: PT011
        function(rectangle())
    error = outcome(function, fullgraph=True)
    assert type(error) is TorchRuntimeError and type(error.__cause__) is type(plain.value)
    assert str(plain.value) in str(error)
    assert "test_refused_operators.py" in str(error)
    error = outcome(function)
    assert type(error) is type(plain.value) and str(error) == str(plain.value)


@pytest.mark.parametrize("function", WRONG_KINDS)
def test_arguments_of_another_kind(function):
    with pytest.raises(TypeError):
        function(rectangle())
    error = outcome(function, fullgraph=True)
    assert isinstance(error, Unsupported) and error.gb_code == "GB0112"
    assert type(outcome(function)) is TypeError


@pytest.mark.parametrize("function", INDEX)
def test_wrong_dimensions_are_said_as_they_are(function):
    assert isinstance(outcome(function, fullgraph=True), IndexError)
    assert isinstance(outcome(function), IndexError)


def test_what_a_program_raises_is_its_own():
    def f(x):
        if x.shape[0] == 2:
            raise RuntimeError("of the program")
        return torch.linalg.inv(x)

    error = outcome(f, fullgraph=True)
    assert isinstance(error, Unsupported) and error.gb_code == "GB0088"
    error = outcome(lambda x: torch.nn.init.calculate_gain("bad"), fullgraph=True)
    assert isinstance(error, Unsupported) and error.gb_code == "GB0088"


def test_a_handler_sees_them():
    def f(x):
        try:
            return torch.linalg.inv(x)
        except RuntimeError as error:
            return x + len(str(error))

    torch._dynamo.reset()
    x = rectangle()
    assert torch.compile(f, backend="eager", fullgraph=True)(x).tolist() == f(x).tolist()
